"""``deepnlp data``: which data sets are there, and fetching those that are not.

Files go to the data folder: DEEPNLP_DATA, else `datasets` in the working directory. Each is checked
against the SHA-256 that deepnlp states for it before it gets its name. A fetch that was interrupted
goes on where it broke off. Public addresses are https; a mirror is a data folder that is served
elsewhere (--mirror, or the environment variable DEEPNLP_MIRROR), over https or from this machine.
`verify` exits with 1 if a file is damaged or missing.

examples:
  deepnlp data list
  deepnlp data list ptb                 addresses, checksums, licence, citation
  deepnlp data fetch ptb wikitext-2
  deepnlp data fetch ptb --mirror http://127.0.0.1:8000 --to /mnt/data
  deepnlp data verify
  deepnlp data path ptb                 where its files are
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, megabytes, print_json, table
from deepnlp.cli.parser import add_backend, add_json, option

if TYPE_CHECKING:
    from deepnlp.datasets.manifest import DataSet


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each with its options."""
    add_json(parser)
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    one = _action(actions, "list", "the known data sets, or all about some of them", show)
    option(one, "names NAME", "by default a line for each set", nargs="*")

    one = _action(actions, "fetch", "fetch what is not there", fetch)
    option(one, "names NAME", "", nargs="+")
    option(
        one,
        "--mirror URL",
        "try this address of a data folder first; may be given several times; by default "
        "what the environment variable DEEPNLP_MIRROR says",
        many=True,
    )
    option(one, "--to DIR", "by default the data folder")
    option(one, "--overwrite", "replace files that hold other bytes", bool)

    one = _action(actions, "verify", "compare files with their published checksums", verify)
    option(one, "names NAME", "by default sets that are there", nargs="*")

    one = _action(actions, "path", "print where the files of a set are", path)
    option(one, "names NAME", "", nargs=1)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    code: int = arguments.do(arguments)
    return code


def show(arguments: argparse.Namespace) -> int:
    """Print a table of all sets, or what the manifest says of some."""
    from deepnlp.datasets.manifest import data_set, manifest

    chosen = [data_set(name) for name in arguments.names] or list(manifest().values())
    if arguments.json:
        print_json({"folder": str(_folder()), "sets": [_as_json(one) for one in chosen]})
    elif arguments.names:
        print("\n\n".join(_in_full(one) for one in chosen))
    else:
        headings = ["set", ">there", ">size", "licence", "what it is"]
        rows = [
            [one.name, _there(one), megabytes(_size(one)), one.licence, one.title] for one in chosen
        ]
        print(table(headings, rows))
        print(f"\nfolder: {_folder()}")
    return 0


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch sets, and say what came from where."""
    from deepnlp.datasets import data_folder
    from deepnlp.datasets.fetching import fetch as fetch_set
    from deepnlp.datasets.manifest import data_set

    for name in arguments.names:
        data_set(name)  # an error before anything is fetched
    found: dict[str, str] = {}
    for name in arguments.names:
        found |= fetch_set(
            name,
            arguments.to,
            mirrors=arguments.mirror,
            overwrite=arguments.overwrite,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    folder = data_folder(arguments.to)
    if arguments.json:
        print_json({"folder": str(folder), "files": found})
        return 0
    for file, address in found.items():
        print(f"{folder / file}: {'fetched, and right' if address else 'there, and right'}")
    if arguments.to and folder.resolve() != _folder().resolve():
        print(f"set DEEPNLP_DATA={folder} so that commands find it", file=aside(arguments))
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print the state of every file; 1 if one is not right."""
    from deepnlp.datasets.fetching import RIGHT
    from deepnlp.datasets.fetching import verify as verify_set
    from deepnlp.datasets.manifest import manifest

    names = arguments.names or [name for name, one in manifest().items() if _count(one)]
    states = {file: state for name in names for file, state in verify_set(name).items()}
    if arguments.json:
        print_json({"folder": str(_folder()), "files": states})
    elif states:
        print(table(["file", "state"], list(states.items())))
    else:
        print(f"no known data set is in {_folder()}: `deepnlp data list` shows them")
    return 0 if set(states.values()) <= {RIGHT} else 1


def path(arguments: argparse.Namespace) -> int:
    """Print a path a line; an error that names the command if a file is missing."""
    from deepnlp.datasets.files import find_file
    from deepnlp.datasets.manifest import data_set

    files = [str(find_file(_folder(), file.path)) for file in data_set(arguments.names[0]).files]
    if arguments.json:
        print_json({"set": arguments.names[0], "files": files})
    else:
        print("\n".join(files))
    return 0


def _action(actions: Any, name: str, summary: str, do: Any) -> argparse.ArgumentParser:
    """The parser of an action, with what all actions share."""
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    parser.set_defaults(do=do)
    add_json(parser, default=argparse.SUPPRESS)
    add_backend(parser, default=argparse.SUPPRESS)
    return parser


def _folder() -> Path:
    from deepnlp.datasets import data_folder

    return data_folder()


def _count(one: "DataSet") -> int:
    """How many files of a set are there."""
    from deepnlp.datasets.files import located

    return sum(located(_folder() / file.path) is not None for file in one.files)


def _there(one: "DataSet") -> str:
    return f"{_count(one)} of {len(one.files)}"


def _size(one: "DataSet") -> int:
    return sum(file.bytes for file in one.files)


def _as_json(one: "DataSet") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(one) | {"there": _count(one), "files": len(one.files), "bytes": _size(one)}


def _in_full(one: "DataSet") -> str:
    """What the manifest says of a set."""
    lines = [f"{one.name}: {one.title}", f"licence: {one.licence}", f"cite: {one.cite}"]
    lines += [f"there: {_there(one)} files, {megabytes(_size(one))}"]
    for download in one.downloads:
        for file in download.files:
            member = f" ({file.member})" if file.member else ""
            lines.append(f"{file.path}{member}  {file.bytes:,} bytes  sha256 {file.sha256}")
        lines += [f"  {address}" for address in download.addresses or ["no public address"]]
    return "\n".join(lines)
