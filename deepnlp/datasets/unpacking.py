"""Files out of what was downloaded: only those of the manifest, at most as large as it says."""

from __future__ import annotations

import gzip
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from deepnlp.datasets.manifest import DataFile
from deepnlp.datasets.transfer import CHUNK, TransferError
from deepnlp.files.writing import replacing

#: Methods whose decompressors give no more than they are asked for.
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for a hostile archive is not one exception.
DAMAGED = (
    OSError, EOFError, ValueError, LookupError, RuntimeError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def unpack(partial: Path, form: str, file: DataFile, path: Path) -> None:
    """Write a file of a download to its path, if its bytes are those of the manifest.

    The names inside an archive never become paths: one member is read, the one asked for.
    """
    size, digest = 0, hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        for block in _blocks(partial, form, file.member):
            size += len(block)
            if size > file.bytes:
                raise TransferError(f"unpacks to more than the {file.bytes:,} bytes of {file.path}")
            digest.update(block)
            out.write(block)
        if digest.hexdigest() != file.sha256:
            raise TransferError(f"its bytes are not those of {file.path} (SHA-256 differs)")


def _blocks(partial: Path, form: str, member: str | None) -> Iterator[bytes]:
    """The bytes of a file, of what a .gz file holds, or of a member of a .zip file."""
    try:
        if form == ".zip":
            with zipfile.ZipFile(partial) as archive:
                info = archive.getinfo(member or "")
                if info.compress_type not in ZIP_METHODS:
                    raise ValueError(f"{member} is packed in an unusual way")
                with archive.open(info) as packed:
                    while block := packed.read(CHUNK):
                        yield block
            return
        with gzip.open(partial) if form == ".gz" else partial.open("rb") as file:
            while block := file.read(CHUNK):
                yield block
    except DAMAGED as error:
        raise TransferError(f"cannot be unpacked: {error}") from None
