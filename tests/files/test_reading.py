"""Files that people hand over: the errors that name them, and the most that is read."""

import io
import json
import os
import sys

import pytest

from deepnlp.files.reading import content_of, read_json, read_toml


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_toml, b"a = " + b"[" * 5000 + b"]" * 5000, "not a TOML file: nested too deeply"),
        (read_toml, b"\xff\xfe" + b"a = 1\n", "not a TOML file: byte 0 is no UTF-8 text"),
        (read_toml, b"a = \n", "not a TOML file: Invalid value"),
        (read_toml, b"a = " + b"9" * 5000, "not a TOML file: "),
        (read_toml, bytes(range(256)), "not a TOML file: byte 128"),
        (read_json, b"[" * 100_000, "not a JSON object: nested too deeply"),
        (read_json, b'{"a":' * 100_000, "not a JSON object: nested too deeply"),
        (read_json, b"\xff", "not a JSON object: byte 0 is no UTF-8 text"),
        (read_json, b"[1, 2]", "not a JSON object, but a list"),
        (read_json, b"null", "not a JSON object, but a NoneType"),
        (read_json, b"", "not a JSON object: Expecting value"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, read, content, message):
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in ("/dev/zero", "/dev/null", tmp_path / "fifo"):
        with pytest.raises(ValueError, match="is no regular file: expected one, or - for standard"):
            content_of(path)
    with pytest.raises(OSError, match=r"/proc/self/mem"):
        content_of("/proc/self/mem")
    with pytest.raises(IsADirectoryError):
        content_of(tmp_path)
    with pytest.raises(FileNotFoundError):
        content_of(tmp_path / "nothing")


def test_no_more_is_read_than_the_limit(tmp_path, monkeypatch):
    class Endless(io.RawIOBase):
        def readinto(self, buffer):
            buffer[:] = b"a" * len(buffer)
            return len(buffer)

        def readable(self):
            return True

    path = tmp_path / "text"
    path.write_bytes(b"a" * 100)
    assert content_of(path, 100) == b"a" * 100
    with pytest.raises(ValueError, match="text is longer than 0 MB, the most that is read of it"):
        content_of(path, 99)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(ValueError, match="standard input is longer than 1 MB"):
        content_of("-", 1 << 20)


def test_whole_tables(tmp_path):
    (tmp_path / "a.toml").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "a.json").write_text(json.dumps({"a": "ä"}), encoding="utf-8")
    assert (read_toml(tmp_path / "a.toml"), read_json(tmp_path / "a.json")) == (
        {"a": 1},
        {"a": "ä"},
    )
