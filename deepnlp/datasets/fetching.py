"""Known data sets: whether their files are there and right, and fetching those that are not."""

import gzip
import hashlib
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deepnlp.datasets.files import data_folder, located
from deepnlp.datasets.manifest import DataFile, Download, data_set
from deepnlp.datasets.transfer import CHUNK, TIMEOUT, Source, TransferError, download, is_secure
from deepnlp.errors import DeepNLPError
from deepnlp.files.reading import unpacked
from deepnlp.files.writing import locked, replacing

Say = Callable[[str], object]

MISSING, DAMAGED, RIGHT = "missing", "damaged", "right"
PACKED = (".gz", ".zip")
SLACK = 1 << 20  # bytes that packing may add to a file


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    mirrors: Sequence[str] = (),
    overwrite: bool = False,
    timeout: float = TIMEOUT,
    say: Say = lambda _: None,
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
        to.mkdir(parents=True, exist_ok=True)
        lock = to / ".fetch.lock"
        with locked(lock, 0) as free:
            if not free:
                say(f"another process is fetching into {to}: waiting until it has ended")
        with locked(lock, math.inf):
            origins = {file.path: "" for file in chosen.files}
            for offer in chosen.downloads:
                wanted = [file for file in offer.files if _is_wanted(file, to, overwrite)]
                came, failures = _fetch_files(offer, wanted, to, bases, timeout, say)
                left = [file for file in wanted if file.path not in came]
                if left:
                    raise DeepNLPError(_by_hand(name, left[0], offer, to, failures))
                origins |= came
                for path in _partials(offer, to):
                    path.unlink(missing_ok=True)  # also the parts from other addresses
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
    """Return the state of a file: missing, damaged or right."""
    path = located(folder / file.path)
    if path is None:
        return MISSING
    try:
        with unpacked(path) as opened:
            for _ in checked(iter(lambda: opened.read(CHUNK), b""), file):
                pass
    except (ValueError, TransferError):  # not a whole gzip file, or not its bytes
        return DAMAGED
    return RIGHT


# --- What to fetch, and from where ---------------------------------------------------------------


def _bases(mirrors: Sequence[str]) -> list[str]:
    """Return addresses of mirrors, each ending in a slash."""
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
            f"{located(folder / file.path)} does not hold the published bytes: use --overwrite"
        )
    return state != RIGHT


def _sources(offer: Download, bases: list[str]) -> Iterator[tuple[Source, tuple[DataFile, ...]]]:
    """Yield the sources of a download in order, with the files that each address gives."""
    for base in bases:
        for file in offer.files:
            yield Source(base + file.path, file.bytes, file.bytes, file.sha256), (file,)
            yield Source(f"{base}{file.path}.gz", file.bytes + SLACK), (file,)
    for address in offer.addresses:
        served = offer if _packing(address) else offer.files[0]
        limit = served.bytes or sum(file.bytes for file in offer.files) + SLACK
        yield Source(address, limit, served.bytes, served.sha256), offer.files


def _packing(address: str) -> str:
    """Return how what an address serves is packed: an ending, or nothing."""
    return next((ending for ending in PACKED if address.endswith(ending)), "")


def _partial(folder: Path, file: DataFile, packing: str) -> Path:
    """Return the path of an incomplete transfer: hidden, in the folder of the file."""
    path = folder / file.path
    return path.with_name(f".{path.name}{packing}.part")


def _partials(offer: Download, folder: Path) -> list[Path]:
    """Return all partial files that a download may have left."""
    return [_partial(folder, file, packing) for file in offer.files for packing in ("", *PACKED)]


def _fetch_files(
    offer: Download, wanted: list[DataFile], to: Path, bases: list[str], timeout: float, say: Say
) -> tuple[dict[str, str], list[str]]:
    """Try one address after the other until all files of a download are there.

    Gives the address that each file came from, and what went wrong at others.
    """
    came: dict[str, str] = {}
    failures: list[str] = []
    for source, gives in _sources(offer, bases):
        files = [file for file in wanted if file in gives and file.path not in came]
        if not files:
            continue
        packing = _packing(source.address)
        path = _partial(to, gives[0], packing)
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"{', '.join(file.path for file in files)} from {source.address}")
        try:
            download(source, path, timeout=timeout)
            for file in files:
                unpack(path, packing, file, to / file.path)
        except TransferError as error:
            say(f"  {error}")
            failures.append(f"{urlsplit(source.address).netloc} {error}")
        else:
            came |= {file.path: source.address for file in files}
    return came, failures


def _by_hand(name: str, file: DataFile, offer: Download, folder: Path, failures: list[str]) -> str:
    """Return a message: what went wrong at each address, and what to do without a network."""
    said = f"could not fetch {file.path}"
    said += f" ({'; '.join(dict.fromkeys(failures))})" if failures else ""
    if any(path.exists() for path in _partials(offer, folder)):
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


# --- Files out of what was downloaded ------------------------------------------------------------


#: Methods of .zip files whose decompressors give no more than they are asked for.
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unpack(partial: Path, packing: str, file: DataFile, path: Path) -> None:
    """Write a file of a download to its path, if its bytes are those of the manifest.

    The names inside an archive never become paths: one member is read, the one asked for. A
    download that does not hold the file is of no further use, and removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(path) as out:
            out.writelines(checked(_blocks(partial, packing, file.member), file))
    except TransferError:
        partial.unlink()
        raise


def checked(blocks: Iterable[bytes], file: DataFile) -> Iterator[bytes]:
    """Yield the file's bytes; raise an error if there are too many or the hash differs."""
    size, digest = 0, hashlib.sha256()
    for block in blocks:
        size += len(block)
        if size > file.bytes:
            raise TransferError(f"unpacks to more than the {file.bytes:,} bytes of {file.path}")
        digest.update(block)
        yield block
    if digest.hexdigest() != file.sha256:
        raise TransferError(f"its bytes are not those of {file.path} (SHA-256 differs)")


def _blocks(partial: Path, packing: str, member: str | None) -> Iterator[bytes]:
    """Return the bytes of a file, of what a .gz file holds, or of a member of a .zip file."""
    try:
        with ExitStack() as opened:
            if packing == ".zip":
                archive = opened.enter_context(zipfile.ZipFile(partial))
                info = archive.getinfo(member or "")
                if info.compress_type not in ZIP_METHODS:
                    raise ValueError(f"{member} is packed in an unusual way")
                file = opened.enter_context(archive.open(info))
            else:
                opener: Any = gzip.open if packing == ".gz" else open
                file = opened.enter_context(opener(partial, "rb"))
            while block := file.read(CHUNK):
                yield block
    except Exception as error:  # zipfile and gzip raise many kinds of errors
        raise TransferError(f"cannot be unpacked: {error}") from None
