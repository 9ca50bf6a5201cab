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

from deepnlp.cli.actions import add_actions
from deepnlp.cli.output import answer, aside, megabytes, print_json, table

if TYPE_CHECKING:
    from deepnlp.datasets.manifest import DataSet


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each with its options."""
    action = add_actions(parser)
    add = action("list", "the known data sets, or all about some of them", show)
    add("names NAME", "by default a line for each set", nargs="*")

    add = action("fetch", "fetch what is not there", fetch)
    add("names NAME", "", nargs="+")
    add(
        "--mirror URL",
        "try this address of a data folder first; may be given several times; by default "
        "what the environment variable DEEPNLP_MIRROR says",
        many=True,
    )
    add("--to DIR", "by default the data folder")
    add("--overwrite", "replace files that hold other bytes", bool)

    add = action("verify", "compare files with their published checksums", verify)
    add("names NAME", "by default sets that are there", nargs="*")

    add = action("path", "print where the files of a set are", path)
    add("names NAME", "", nargs=1)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    code: int = arguments.do(arguments)
    return code


def show(arguments: argparse.Namespace) -> int:
    """Print a table of all sets, or what the manifest says of some."""
    from deepnlp.datasets.manifest import data_set, manifest

    chosen = [data_set(name) for name in arguments.names] or list(manifest().values())
    facts = {"folder": str(_folder()), "sets": [_as_json(data) for data in chosen]}
    if arguments.names:
        return answer(arguments, facts, "\n\n".join(map(_in_full, chosen)))
    rows = [
        [data.name, _there(data), megabytes(_size(data)), data.licence, data.title]
        for data in chosen
    ]
    sets = table(["set", ">there", ">size", "licence", "what it is"], rows)
    return answer(arguments, facts, f"{sets}\n\nfolder: {_folder()}")


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch sets, and say what came from where."""
    from deepnlp.datasets import data_folder
    from deepnlp.datasets.fetching import fetch as fetch_set
    from deepnlp.datasets.manifest import data_set

    for name in arguments.names:
        data_set(name)  # an error before anything is fetched
    addresses: dict[str, str] = {}
    for name in arguments.names:
        addresses |= fetch_set(
            name,
            arguments.to,
            mirrors=arguments.mirror,
            overwrite=arguments.overwrite,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    folder = data_folder(arguments.to)
    if arguments.json:
        print_json({"folder": str(folder), "files": addresses})
        return 0
    for file, address in addresses.items():
        print(f"{folder / file}: {'fetched, and right' if address else 'there, and right'}")
    if arguments.to and folder.resolve() != _folder().resolve():
        print(f"set DEEPNLP_DATA={folder} so that commands find it", file=aside(arguments))
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print the state of every file; 1 if one is not right."""
    from deepnlp.datasets.fetching import RIGHT
    from deepnlp.datasets.fetching import verify as verify_set
    from deepnlp.datasets.manifest import manifest

    names = arguments.names or [name for name, data in manifest().items() if _count(data)]
    states = {file: state for name in names for file, state in verify_set(name).items()}
    text = f"no known data set is in {_folder()}: `deepnlp data list` shows them"
    if states:
        text = table(["file", "state"], list(states.items()))
    answer(arguments, {"folder": str(_folder()), "files": states}, text)
    return 0 if set(states.values()) <= {RIGHT} else 1


def path(arguments: argparse.Namespace) -> int:
    """Print a path a line; an error that names the command if a file is missing."""
    from deepnlp.datasets.files import find_file
    from deepnlp.datasets.manifest import data_set

    files = [str(find_file(_folder(), file.path)) for file in data_set(arguments.names[0]).files]
    return answer(arguments, {"set": arguments.names[0], "files": files}, "\n".join(files))


def _folder() -> Path:
    from deepnlp.datasets import data_folder

    return data_folder()


def _count(data: "DataSet") -> int:
    """How many files of a set are there."""
    from deepnlp.datasets.files import located

    return sum(located(_folder() / file.path) is not None for file in data.files)


def _there(data: "DataSet") -> str:
    return f"{_count(data)} of {len(data.files)}"


def _size(data: "DataSet") -> int:
    return sum(file.bytes for file in data.files)


def _as_json(data: "DataSet") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(data) | {"there": _count(data), "files": len(data.files), "bytes": _size(data)}


def _in_full(data: "DataSet") -> str:
    """What the manifest says of a set."""
    lines = [f"{data.name}: {data.title}", f"licence: {data.licence}", f"cite: {data.cite}"]
    lines += [f"there: {_there(data)} files, {megabytes(_size(data))}"]
    for download in data.downloads:
        for file in download.files:
            member = f" ({file.member})" if file.member else ""
            lines.append(f"{file.path}{member}  {file.bytes:,} bytes  sha256 {file.sha256}")
        lines += [f"  {address}" for address in download.addresses or ["no public address"]]
    return "\n".join(lines)
