"""Files out of what was downloaded: only those of the manifest, at most as large as it says."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from deepnlp.datasets.manifest import DataFile
from deepnlp.datasets.transfer import CHUNK, TransferError
from deepnlp.files.writing import replacing

#: Methods whose decompressors give no more than they are asked for.
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
    """The bytes of a file; an error at the first that is too many, or if they are not its own."""
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
    """The bytes of a file, of what a .gz file holds, or of a member of a .zip file."""
    try:
        with ExitStack() as opened:
            if packing == ".zip":
                archive = opened.enter_context(zipfile.ZipFile(partial))
                info = archive.getinfo(member or "")
                if info.compress_type not in ZIP_METHODS:
                    raise ValueError(f"{member} is packed in an unusual way")
                file = opened.enter_context(archive.open(info))
            else:
                opener = gzip.open if packing == ".gz" else open
                file = opened.enter_context(opener(partial, "rb"))
            while block := file.read(CHUNK):
                yield block
    except Exception as error:  # whatever zipfile and gzip make of the bytes
        raise TransferError(f"cannot be unpacked: {error}") from None
