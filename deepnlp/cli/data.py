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

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

from deepnlp import datasets
from deepnlp.cli.shared import Answer, Flag, megabytes
from deepnlp.datasets import manifest
from deepnlp.datasets.fetching import RIGHT
from deepnlp.datasets.files import find_file, located
from deepnlp.datasets.manifest import DataSet, data_set
from deepnlp.files.tables import table
from deepnlp.options import Option

Names = Annotated[Sequence[str], Option(metavar="NAME")]


def run(action: Callable[[], Answer]) -> Answer:
    """Do what was asked for."""
    return action()


def show(names: Names = ()) -> Answer:
    """the known data sets, or all about some of them.

    Parameters
    ----------
    names : sequence of str
        by default a line for each set.
    """
    sets = [data_set(name) for name in names] or list(manifest.manifest().values())
    facts = {
        "folder": str(datasets.data_folder()),
        "sets": [asdict(known) | _extent(known) for known in sets],
    }
    if names:
        return Answer(facts, "\n\n".join(map(_in_full, sets)))
    rows = [[s.name, _there(s), megabytes(_extent(s)["bytes"]), s.licence, s.title] for s in sets]
    listed = table(["set", ">there", ">size", "licence", "what it is"], rows)
    return Answer(facts, f"{listed}\n\nfolder: {datasets.data_folder()}")


def fetch(
    names: Names,
    *,
    mirror: Annotated[Sequence[str], Option(metavar="URL")] = (),
    to: Annotated[str | None, Option(metavar="DIR")] = None,
    overwrite: Flag = False,
) -> Answer:
    """fetch what is not there.

    Parameters
    ----------
    mirror : sequence of str
        try this address of a data folder first; may be given several times; by default what the
        environment variable DEEPNLP_MIRROR says.
    to : str, optional
        by default the data folder.
    overwrite : bool
        replace files that hold other bytes.
    """
    for name in names:
        data_set(name)  # an error before anything is fetched
    addresses: dict[str, str] = {}
    say = partial(print, file=sys.stderr, flush=True)
    for name in names:
        addresses |= datasets.fetch(name, to, mirrors=mirror, overwrite=overwrite, say=say)
    folder = datasets.data_folder(to)
    lines = [
        f"{folder / file}: {'fetched, and right' if address else 'there, and right'}"
        for file, address in addresses.items()
    ]
    if to and folder.resolve() != datasets.data_folder().resolve():
        lines.append(f"set DEEPNLP_DATA={folder} so that commands find it")
    return Answer({"folder": str(folder), "files": addresses}, "\n".join(lines))


def verify(names: Names = ()) -> Answer:
    """compare files with their published checksums.

    Parameters
    ----------
    names : sequence of str
        by default sets that are there.
    """
    chosen = names or [
        name for name, known in manifest.manifest().items() if _extent(known)["there"]
    ]
    states = {file: state for name in chosen for file, state in datasets.verify(name).items()}
    facts = {"folder": str(datasets.data_folder()), "files": states}
    none = f"no known data set is in {datasets.data_folder()}: `deepnlp data list` shows them"
    text = table(["file", "state"], states.items()) if states else none
    return Answer(facts, text, 0 if {*states.values()} <= {RIGHT} else 1)


def path(name: Annotated[str, Option(metavar="NAME")]) -> Answer:
    """print where the files of a set are."""
    files = [str(find_file(datasets.data_folder(), file.path)) for file in data_set(name).files]
    return Answer({"set": name, "files": files}, "\n".join(files))


ACTIONS = {"list": show, "fetch": fetch, "verify": verify, "path": path}


def _extent(known: DataSet) -> dict[str, int]:
    """Return how many files of a set are there, how many it has, and their bytes."""
    there = sum(located(datasets.data_folder() / file.path) is not None for file in known.files)
    size = sum(file.bytes for file in known.files)
    return {"there": there, "files": len(known.files), "bytes": size}


def _there(known: DataSet) -> str:
    extent = _extent(known)
    return f"{extent['there']} of {extent['files']}"


def _in_full(known: DataSet) -> str:
    """Return all that the manifest says of a set."""
    lines = [f"{known.name}: {known.title}", f"licence: {known.licence}", f"cite: {known.cite}"]
    lines += [f"there: {_there(known)} files, {megabytes(_extent(known)['bytes'])}"]
    for download in known.downloads:
        for file in download.files:
            member = f" ({file.member})" if file.member else ""
            lines.append(f"{file.path}{member}  {file.bytes:,} bytes  sha256 {file.sha256}")
        lines += [f"  {address}" for address in download.addresses or ["no public address"]]
    return "\n".join(lines)
