"""Write the small text that stands in for pydocs where Python has no sources, as in a browser.

``python docs/site/frozen_text.py`` reads the documentation of the Python that runs it. It keeps the
sentences of the language reference's topics, and of half of the modules in the other two splits.
"""

import gzip
import zlib
from pathlib import Path

from deepnlp.datasets import pydocs


def main() -> None:
    """Write deepnlp/datasets/pydocs.txt.gz: a name, its sentences, a blank line, the next name."""
    blocks = []
    for name, text in pydocs.documents():
        half = pydocs.split_of(name) != "train" and zlib.crc32(name.encode()) % 2 == 0
        lines = pydocs.english(text) if name.startswith("topics.") or half else []
        if lines:
            blocks.append("\n".join([name, *lines]))
    path = Path(pydocs.__file__).with_name("pydocs.txt.gz")
    path.write_bytes(gzip.compress("\n\n".join(blocks).encode(), 9, mtime=0))
    print(f"{path.name}: {len(blocks)} documents, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
