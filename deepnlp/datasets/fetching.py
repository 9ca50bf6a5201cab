"""Known data sets: whether their files are there and right, and fetching those that are not."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from deepnlp.datasets.files import data_folder, located
from deepnlp.datasets.manifest import DataFile, Download, data_set
from deepnlp.datasets.transfer import (
    CHUNK,
    TIMEOUT,
    Source,
    TransferError,
    discard,
    download,
    is_secure,
)
from deepnlp.datasets.unpacking import unpack
from deepnlp.errors import DeepNLPError
from deepnlp.files.reading import unpacked
from deepnlp.files.writing import locked

MISSING, DAMAGED, RIGHT = "missing", "damaged", "right"
FORMS = ("", ".gz", ".zip")
FOR_EVER = float("inf")
SLACK = 1 << 20  # bytes by which packing may lengthen a file, and an archive holds more


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    mirrors: Sequence[str] = (),
    overwrite: bool = False,
    timeout: float = TIMEOUT,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, str]:
    """Fetch the files of a known data set that are not there yet.

    Every file is checked against the SHA-256 that the package states for it before it gets its
    name. A transfer that breaks off goes on from there when the function is called again.

    Parameters
    ----------
    name : str
        A data set: ``deepnlp data list`` shows them.
    folder : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.
    mirrors : sequence of str
        Base addresses of data folders that are served elsewhere, tried before the public
        addresses: https, or http on this machine. By default that of the environment variable
        ``DEEPNLP_MIRROR``, if it is set.
    overwrite : bool
        Replace files that are there but hold other bytes than the published ones.
    timeout : float
        Seconds to wait for an answer, or for the next bytes.
    say : callable
        Takes lines that say what happens.

    Returns
    -------
    dict of str to str
        For every file of the set, by its path in the folder, the address that it came from, or
        ``""`` if it was there.

    Raises
    ------
    ValueError
        If the name is unknown or a mirror is not secure.
    DeepNLPError
        If a file could not be fetched: the text gives its address and where to put it.

    Examples
    --------
    >>> fetch("ptb", mirrors=["http://example.org/"])
    Traceback (most recent call last):
        ...
    ValueError: mirror 'http://example.org/' should be https://..., or http://... on this machine
    """
    chosen, to = data_set(name), data_folder(folder)
    bases = _bases(mirrors)
    try:
        with _alone(to, say):
            origins = {file.path: "" for file in chosen.files}
            for offer in chosen.downloads:
                wanted = [file for file in offer.files if _is_wanted(file, to, overwrite)]
                if wanted:
                    _check_space(offer, wanted, to)
                    origins |= _fetch_files(name, offer, wanted, to, bases, timeout, say)
                for partial in _partials(offer, to):
                    discard(partial)  # also what another address had begun to send
            return origins
    except OSError as error:
        raise DeepNLPError(
            f"cannot fetch {name} into {error.filename or to}: {error.strerror or error}; the same"
            " command goes on from what has come"
        ) from error


def verify(name: str, folder: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Compare the files of a known data set with their published SHA-256.

    Parameters
    ----------
    name : str
        A data set: ``deepnlp data list`` shows them.
    folder : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.

    Returns
    -------
    dict of str to str
        ``"right"``, ``"damaged"`` or ``"missing"`` for every file, by its path in the folder. A
        file packed by gzip is right if what it holds is.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> verify("tinyshakespeare", "no-such-folder")
    {'tinyshakespeare/input.txt': 'missing'}
    """
    return {file.path: state_of(file, data_folder(folder)) for file in data_set(name).files}


def state_of(file: DataFile, folder: Path) -> str:
    """Whether a file is missing, damaged or right."""
    path = located(folder / file.path)
    if path is None:
        return MISSING
    size, digest = 0, hashlib.sha256()
    try:
        with unpacked(path) as opened:
            # What is longer than the file should be is not read to its end.
            while size <= file.bytes and (block := opened.read(CHUNK)):
                size += len(block)
                digest.update(block)
    except ValueError:  # not a whole gzip file
        return DAMAGED
    return RIGHT if digest.hexdigest() == file.sha256 else DAMAGED


# --- What to fetch, and from where ---------------------------------------------------------------


def _bases(mirrors: Sequence[str]) -> list[str]:
    """Addresses of mirrors, each ending in a slash."""
    given = list(mirrors) or [base for base in [os.environ.get("DEEPNLP_MIRROR", "")] if base]
    for base in given:
        if not is_secure(base, loopback=True):
            raise ValueError(
                f"mirror {base!r} should be https://..., or http://... on this machine"
            )
    return [base.rstrip("/") + "/" for base in given]


def _is_wanted(file: DataFile, folder: Path, overwrite: bool) -> bool:
    state = state_of(file, folder)
    if state == DAMAGED and not overwrite:
        raise DeepNLPError(
            f"{located(folder / file.path)} does not hold the published bytes: fetch with"
            " --overwrite (in Python overwrite=True) to replace it"
        )
    return state != RIGHT


def _sources(
    offer: Download, folder: Path, bases: list[str]
) -> Iterator[tuple[Source, tuple[DataFile, ...], Path]]:
    """Where the files of a download may come from, in order; which files; the partial file."""
    for base in bases:
        for file in offer.files:
            plain = Source(base + file.path, "", file.bytes, file.bytes, file.sha256)
            packed = Source(f"{base}{file.path}.gz", ".gz", file.bytes + SLACK)
            for source in (plain, packed):
                yield source, (file,), _partial(folder, file, source.form)
    for address in offer.addresses:
        form = next((form for form in FORMS[1:] if address.endswith(form)), "")
        size, sha256 = offer.bytes, offer.sha256
        if not form:
            size, sha256 = offer.files[0].bytes, offer.files[0].sha256
        limit = size or sum(file.bytes for file in offer.files) + SLACK
        source = Source(address, form, limit, size, sha256)
        yield source, offer.files, _partial(folder, offer.files[0], form)


def _partial(folder: Path, file: DataFile, form: str) -> Path:
    """Where a transfer is kept while it is not complete: hidden, in the folder of the file."""
    path = folder / file.path
    return path.with_name(f".{path.name}{form}.part")


def _partials(offer: Download, folder: Path) -> list[Path]:
    """All partial files that a download may have left."""
    return [_partial(folder, file, form) for file in offer.files for form in FORMS]


def _fetch_files(
    name: str,
    offer: Download,
    wanted: list[DataFile],
    folder: Path,
    bases: list[str],
    timeout: float,
    say: Callable[[str], object],
) -> dict[str, str]:
    """Try one address after the other until all files of a download are there."""
    came: dict[str, str] = {}
    failures: list[str] = []
    for source, gives, partial in _sources(offer, folder, bases):
        files = [file for file in wanted if file in gives and file.path not in came]
        if not files:
            continue
        partial.parent.mkdir(parents=True, exist_ok=True)
        say(f"{', '.join(file.path for file in files)} from {source.address}")
        try:
            download(source, partial, timeout=timeout)
            _place(source, partial, files, folder)
        except TransferError as error:
            say(f"  {error}")
            failures.append(f"{urlsplit(source.address).netloc} {error}")
            continue
        came |= {file.path: source.address for file in files}
    left = [file for file in wanted if file.path not in came]
    if left:
        raise DeepNLPError(_by_hand(name, left[0], offer, folder, failures))
    return came


def _place(source: Source, partial: Path, files: list[DataFile], folder: Path) -> None:
    """Files out of a complete download; one that does not hold them is of no further use."""
    try:
        for file in files:
            unpack(partial, source.form, file, folder / file.path)
    except TransferError:
        discard(partial)
        raise


def _by_hand(name: str, file: DataFile, offer: Download, folder: Path, failures: list[str]) -> str:
    """What went wrong at each address, and what to do without a network."""
    said = f"could not fetch {file.path}"
    said += f" ({'; '.join(dict.fromkeys(failures))})" if failures else ""
    if any(partial.exists() for partial in _partials(offer, folder)):
        said += "; the same command goes on from what has come"
    if not offer.addresses:
        return f"{said}. It has no public address: give a --mirror that has it"
    member = f"its member {file.member}" if file.member else "the file"
    packed = ".gz" if offer.addresses[0].endswith(".gz") else ""
    path = f"{(folder / file.path).resolve()}{packed}"
    return (
        f"{said}. By hand: fetch {offer.addresses[0]} and put {member} at {path}"
        f" (`deepnlp data list {name}` shows all addresses)"
    )


def _check_space(offer: Download, wanted: list[DataFile], folder: Path) -> None:
    """An error before anything is fetched that the disk cannot hold."""
    unpacked_bytes = sum(file.bytes for file in wanted)
    needed = unpacked_bytes + (offer.bytes or unpacked_bytes)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DeepNLPError(
            f"{folder} has {free:,} bytes free, {wanted[0].path} needs {needed:,}: make room, or"
            " choose another folder with --to"
        )


@contextmanager
def _alone(folder: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of a data folder; wait for another process that has it."""
    folder.mkdir(parents=True, exist_ok=True)
    for patience in (0.0, FOR_EVER):
        with locked(folder / ".fetch.lock", patience) as held:
            if held:
                yield
                return
        say(f"another process is fetching into {folder}: waiting until it has ended")
