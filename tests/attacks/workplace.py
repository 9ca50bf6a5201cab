"""A folder with a run, models, texts and all kinds of broken files."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path

TINY = ["--embed-size", "8", "--hidden-size", "8", "--layers", "1", "--batch-size", "4"]
TINY += ["--time-size", "10", "--epochs", "1"]
TEXT = "".join(f"The cat number {i % 7} sat on the mat, and the dog saw it.\n" for i in range(40))

BACKWARD = "\n    def backward(self, dy): return dy\n"
LAYERS = {
    "good.py": f"class A:\n    def forward(self, x): return x{BACKWARD}",
    "exits.py": "raise SystemExit(0)\n",
    "recursion.py": f"class A:\n    def forward(self, x): return self.forward(x){BACKWARD}",
    "nothing.py": f"class A:\n    def forward(self, x): return None{BACKWARD}",
    "text.py": f"class A:\n    def forward(self, x): return 'a'{BACKWARD}",
    "raises.py": f"class A:\n    def forward(self, x): raise KeyError(x){BACKWARD}",
    "wrong.py": f"class A:\n    def forward(self, x): return x[:1]{BACKWARD}",
    "syntax.py": "def f(:\n",
    "nul.py": "a\0b",
}
ENDINGS = ("txt", "toml", "npz", "gz", "bin", "vec", "npy", "json", "safetensors", "pt")


def fill(folder: Path) -> None:
    """Fill a folder, in which the process then stands."""
    from deepnlp import checkpoint
    from deepnlp.cli.main import main
    from deepnlp.models import CBOW, Seq2Seq, Tagger
    from deepnlp.text import Vocabulary

    os.chdir(folder)
    Path("cats.txt").write_text(TEXT, encoding="utf-8")
    assert main(["train", "--corpus", "cats.txt", "--out", "run", *TINY]) == 0
    chars = Vocabulary.build("abc", tokenizer="chars")
    words = Vocabulary.build(["cat", "dog", "\x1b[31m", "mat"])
    translator = Seq2Seq(len(chars), len(chars), 4, 4)
    translator.source_vocab = translator.target_vocab = chars
    tagger = Tagger(len(words), 2, 4, 4)
    tagger.vocab, tagger.tag_vocab = words, Vocabulary.build(["lower"])
    vectors = CBOW(len(words), 4)
    vectors.vocab = words
    for name, model in (("translator", translator), ("tagger", tagger), ("vectors", vectors)):
        checkpoint.save(f"{name}.npz", model)
    Path("vectors.txt").write_text("cat 1 2\ndog 2 1\nmat 0 1\n", encoding="utf-8")
    _broken_files(Path("run/best.npz").read_bytes())
    for name, text in LAYERS.items():
        Path(name).write_text(text, encoding="utf-8")
    for name in ("config.toml", "metrics.jsonl", "result.json", "best.npz", "checkpoint.npz"):
        _broken_runs(name)


def _broken_files(model: bytes) -> None:
    """Files that are not what they should be, each in a form of its own."""
    contents = {
        "zeros": b"\0" * 5000,
        "utf16": TEXT.encode("utf-16"),
        "latin": "naïve ".encode("latin-1") * 50,
        "bom": b"\xef\xbb\xbf" + TEXT.encode(),
        "empty": b"",
        "deep": b"a = " + b"[" * 5000 + b"]" * 5000,
        "random": bytes(range(256)) * 20,
        "line": b"cat " * 20_000,
        "half": model[: len(model) // 2],
        "gzip": gzip.compress(TEXT.encode())[:-9],
    }
    for name, content in contents.items():
        for ending in ENDINGS:
            Path(f"{name}.{ending}").write_bytes(content)
    for name, method in (("lzma", zipfile.ZIP_LZMA), ("bz2", zipfile.ZIP_BZIP2), ("deflate", 8)):
        with (
            zipfile.ZipFile("run/best.npz") as whole,
            zipfile.ZipFile(f"{name}.npz", "w", method) as packed,
        ):
            for member in whole.namelist():
                packed.writestr(member, whole.read(member))
        damaged = bytearray(Path(f"{name}.npz").read_bytes())
        for place in range(200, len(damaged), 400):
            damaged[place] ^= 0x55
        Path(f"{name}-damaged.npz").write_bytes(damaged)
    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("meta.json.npy", b"\0" * 300_000_000)
    os.mkfifo("fifo")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")


def _broken_runs(name: str) -> None:
    """Copies of the run in which one file is damaged, or a key is missing from it."""
    whole = {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()}
    damaged = {
        "gone": None,
        "empty": b"",
        "half": whole[name][: len(whole[name]) // 2],
        "binary": b"\xff\xfe\0\0" * 100,
        "list": b"[]",
        "deep": b"[" * 100_000,
        "object": b"{}",
        "other": whole["cats" if name == "cats" else "metrics.jsonl"],
    }
    if name == "result.json":
        table = json.loads(whole[name])
        damaged |= {f"no-{key}": _json({**table}, key) for key in table}
    if name == "metrics.jsonl":
        table = json.loads(whole[name])
        damaged |= {f"no-{key}": _json({**table}, key) + b"\n" for key in table}
    if name == "config.toml":
        lines = whole[name].splitlines(keepends=True)
        damaged |= {
            f"no-{number}": b"".join(lines[:number] + lines[number + 1 :])
            for number in range(0, len(lines), 6)
        }
    for how, content in damaged.items():
        folder = Path("runs-broken") / f"{name}-{how}"
        folder.mkdir(parents=True)
        for other, bytes_ in whole.items():
            (folder / other).write_bytes(bytes_)
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)


def _json(table: dict[str, object], without: str) -> bytes:
    table.pop(without)
    return json.dumps(table).encode()
