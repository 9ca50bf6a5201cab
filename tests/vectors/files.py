"""Files of word vectors, byte by byte, made without the code that reads and writes them."""

import struct
from collections.abc import Sequence
from pathlib import Path

Rows = Sequence[tuple[str | bytes, Sequence[float]]]

ROWS = [("cat", (0.5, -1.0, 2.0)), ("dog", (3.0, 0.25, -4.0)), ("bee", (1.0, 1.5, 0.0))]


def binary(rows: Rows, header: str | bytes | None = None, end: bytes = b"\n") -> bytes:
    """word2vec's binary format; after each vector C writes a line break, gensim nothing."""
    if header is None:
        header = f"{len(rows)} {len(rows[0][1])}"
    packed = [header.encode() if isinstance(header, str) else header, b"\n"]
    for word, numbers in rows:
        packed += [word.encode() if isinstance(word, str) else word, b" "]
        packed += [struct.pack(f"<{len(numbers)}f", *numbers), end]
    return b"".join(packed)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
