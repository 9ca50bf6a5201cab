"""Files that are written: replaced as a whole, on the disk with their names, and nothing else."""

import os
import stat

import pytest

from deepnlp.files.writing import locked, replacing


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_afterwards(tmp_path, monkeypatch):
    path, done = tmp_path / "a", []
    sync, replace = os.fsync, os.replace

    def look(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("name"), replace(*names)))
    with replacing(path) as file:
        file.write(b"whole")
    assert done == ["file", "name", "folder"]
    assert path.read_bytes() == b"whole"


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    real = os.open

    def refuse(path, flags, *mode):
        if flags == os.O_RDONLY:
            raise PermissionError(path)
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)
    with replacing(tmp_path / "a") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_is_neither_replaced_nor_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused = pytest.raises(ValueError, match="it is a device or a pipe, and no file")
    with refused, replacing(tmp_path / "pipe"):
        pass
    with pytest.raises(OSError, match="No such device"), locked(tmp_path / "pipe", 0):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
