"""Named arrays and a JSON text in one ``.npz`` file, which is checked whole when it is read.

The file is a zip archive of ``.npy`` members, none of them compressed or pickled, so that
``numpy.load`` opens it and nothing in it is ever executed. The member ``meta.json`` holds the JSON
text as bytes: the format, its version, a digest of all contents, and what the writer says. The same
contents give the same bytes: no clock times, no paths, a fixed order.
"""

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing

FORMAT = "deepnlp"
VERSION = 2
META = "meta.json"
DIGEST = "digest"
KINDS = "fiu"  # of arrays: floating-point and whole numbers

# What zipfile, NumPy and json raise for bytes that are not what they should be.
DAMAGE = (
    zipfile.BadZipFile, AttributeError, EOFError, LookupError, MemoryError, OSError, OverflowError,
    RuntimeError, SyntaxError, TokenError, TypeError, ValueError,
)  # fmt: skip


def write_npz(
    path: str | PathLike[str], arrays: Mapping[str, HostArray], meta: Mapping[str, Any]
) -> None:
    """Write named arrays and a JSON text; the same contents give the same bytes.

    What could not be read again raises a ValueError, and nothing is written.

    >>> import tempfile, os
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.npz")
    ...     write_npz(path, {"x": np.arange(3)}, {"step": 7})
    ...     read_npz(path)
    ({'x': array([0, 1, 2])}, {'step': 7})
    """
    arrays = {name: np.asarray(array, order="C") for name, array in sorted(arrays.items())}
    _check_arrays(arrays)
    head = {"format": FORMAT, "version": VERSION, **meta}
    head[DIGEST] = digest(arrays, head)
    members = {META: np.frombuffer(_text(head), dtype=np.uint8), **arrays}
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # of the first date that a zip file can state
            info.create_system = 3  # the same on every system
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_npz(path: str | PathLike[str]) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """Read the arrays and the JSON text that :func:`write_npz` wrote; raise if anything differs."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint {path}")
    try:
        arrays = _members(path)
        head = _json(arrays.pop(META).tobytes())
        version = head.get("version")
        if type(version) is not int:
            raise ValueError(f"its version is {version!r}")
        if version != VERSION:
            advice = f"reads format {VERSION}: use the release of deepnlp that wrote it"
            raise DeepNLPError(f"{path} is a checkpoint of format {version}, this deepnlp {advice}")
        _check_arrays(arrays)
        if head.pop(DIGEST) != digest(arrays, head):
            raise ValueError("its contents are not those of its digest")
    except DAMAGE as error:
        reason = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        reason = " ".join(reason.split()) or type(error).__name__
        what = f"is damaged, or is not a checkpoint of deepnlp ({reason})"
        raise DeepNLPError(f"{path} {what}: take another copy, or train again") from error
    return arrays, {name: v for name, v in head.items() if name not in ("format", "version")}


def digest(arrays: Mapping[str, HostArray], head: Mapping[str, Any]) -> str:
    """Return the SHA-256 over the JSON text and the names, types, shapes and bytes of all arrays.

    >>> digest({}, {"step": 7})[:12]
    '233447365968'
    """
    sha256 = hashlib.sha256(_text(head))
    for name, array in sorted(arrays.items()):
        sha256.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        sha256.update(array.tobytes())
    return sha256.hexdigest()


def _text(head: Mapping[str, Any]) -> bytes:
    """Return the JSON text in its one form, in which a number is finite."""
    return json.dumps(head, ensure_ascii=False, sort_keys=True, allow_nan=False).encode("utf-8")


def _json(text: bytes) -> dict[str, Any]:
    """Return the object of a JSON text in which no key is repeated."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise ValueError(f"{META} has a key twice")
        return table

    table = json.loads(text.decode("utf-8"), object_pairs_hook=once)
    if not isinstance(table, dict):
        raise ValueError(f"{META} holds no object")
    return table


def _members(path: Path) -> dict[str, HostArray]:
    """Return the arrays of an archive; no more memory is taken than the file has bytes."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        names = Counter(info.filename for info in infos)
        for info in infos:
            if names[info.filename] > 1:
                raise ValueError(f"it has two members {info.filename}")
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"its member {info.filename} is compressed")
            if not info.filename.endswith(".npy"):
                raise ValueError(f"its member {info.filename} is no array")
        if sum(info.file_size for info in infos) > path.stat().st_size:
            raise ValueError("its members are larger than the file")
        # read() compares the checksum before anything is made of the bytes
        return {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}


def _array(data: bytes) -> HostArray:
    """Copy an array out of the bytes of an ``.npy`` file, if they are as many as it says."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array of npy format {version}")
    shape, turned, dtype = np.lib.format.read_array_header_1_0(file)
    if turned or dtype.hasobject or not dtype.isnative:
        raise ValueError(f"an array of {dtype}, or in another order than C")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape).copy()


def _check_arrays(arrays: Mapping[str, HostArray]) -> None:
    """Raise an error unless all arrays are of finite numbers."""
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise ValueError(f"{name} should be numbers, it is an array of {array.dtype}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are not finite")
