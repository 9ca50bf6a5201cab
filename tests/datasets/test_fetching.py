"""Fetching by name: addresses in turn, what is there already, processes side by side, the disk."""

import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from deepnlp.cli.main import main
from deepnlp.datasets import fetch, fetching, transfer, verify
from deepnlp.datasets.manifest import Download
from deepnlp.errors import DeepNLPError
from tests.datasets.fixtures import BODY, PATH, names_in
from tests.datasets.loopback import (
    CERTIFICATE,
    broken,
    endless,
    file_of,
    plain_set,
    set_of,
    stalled,
    status,
    whole,
)

SECOND = "made/second.txt"
HALF = len(BODY) // 2
FEW = 1000  # bytes, less than a buffer holds


# --- Addresses, one after the other --------------------------------------------------------------


def test_the_next_mirror_is_tried_and_goes_on_from_the_part(server, other, known, tmp_path):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", broken(BODY, HALF), status(500))
    other.serve(f"/deep/{PATH}", whole(BODY))
    mirrors = [server.address, f"{other.address}/deep/"]
    found = fetch("made", tmp_path, mirrors=mirrors)
    assert found == {PATH: f"{other.address}/deep/{PATH}"}
    assert [headers["Range"] for headers in other.asked(f"/deep/{PATH}")] == [f"bytes={HALF}-"]
    assert names_in(tmp_path) == ["made", PATH]


def test_wrong_bytes_of_one_mirror_are_made_good_by_the_next(server, other, known, tmp_path):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY[::-1]))
    other.serve(f"/{PATH}", whole(BODY))
    fetch("made", tmp_path, mirrors=[server.address, other.address])
    assert verify("made", tmp_path) == {PATH: "right"}


def test_public_addresses_come_after_the_mirror(secure, server, known, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    monkeypatch.setenv("DEEPNLP_MIRROR", server.address)
    known(plain_set(PATH, BODY, f"{secure.address}/gone", f"{secure.address}/published"))
    secure.serve("/published", whole(BODY))
    said = []
    assert fetch("made", tmp_path, say=said.append) == {PATH: f"{secure.address}/published"}
    assert [path for path, _ in server.requests] == [f"/{PATH}", f"/{PATH}.gz"]
    assert [path for path, _ in secure.requests] == ["/gone", "/published"]
    assert said[0] == f"{PATH} from {server.address}/{PATH}"
    assert said[1] == "  answers 404 (Not Found)"


def test_a_mirror_given_is_used_in_place_of_that_of_the_environment(
    server, known, tmp_path, monkeypatch
):
    monkeypatch.setenv("DEEPNLP_MIRROR", "http://127.0.0.1:1")
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY))
    fetch("made", tmp_path, mirrors=[server.address])


@pytest.mark.parametrize("base", ["http://example.org/", "ftp://127.0.0.1/", "data", "file:///a"])
def test_a_mirror_that_is_not_secure_is_refused(known, tmp_path, monkeypatch, base):
    known(plain_set(PATH, BODY))
    with pytest.raises(ValueError, match="should be https"):
        fetch("made", tmp_path, mirrors=[base])
    monkeypatch.setenv("DEEPNLP_MIRROR", base)
    with pytest.raises(ValueError, match="should be https"):
        fetch("made", tmp_path)
    assert names_in(tmp_path) == []


def test_a_mirror_may_have_files_packed(server, known, tmp_path):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}.gz", whole(gzip.compress(BODY)))
    assert fetch("made", tmp_path, mirrors=[server.address]) == {
        PATH: f"{server.address}/{PATH}.gz"
    }
    assert (tmp_path / PATH).read_bytes() == BODY
    assert names_in(tmp_path) == ["made", PATH]


def test_a_packed_file_whose_size_is_not_known(server, known, tmp_path):
    known(plain_set(PATH, BODY))
    packed = gzip.compress(BODY)
    long = lambda handler: handler.reply(200, packed, 5_000_000)  # noqa: E731
    wrong = whole(gzip.compress(BODY[::-1]))
    server.serve(f"/{PATH}.gz", long, wrong, broken(packed, 20), whole(packed))
    for said in ("has 5,000,000 bytes, expected no more than 1,058,816", "SHA-256 differs"):
        with pytest.raises(DeepNLPError, match=said):
            fetch("made", tmp_path, mirrors=[server.address])
        assert names_in(tmp_path) == ["made"]
    fetch("made", tmp_path, mirrors=[server.address])
    assert [headers.get("Range") for headers in server.asked(f"/{PATH}.gz")][2:] == [
        None,
        "bytes=20-",
    ]
    assert verify("made", tmp_path) == {PATH: "right"}


def test_an_archive_whose_size_is_not_known(secure, known, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    files = (file_of(PATH, BODY, "inside/a"), file_of(SECOND, b"two", "inside/b"))
    address = f"{secure.address}/both.zip"
    known(set_of(Download(files, (address,))))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, body in (("inside/b", b"two"), ("../out", b"evil"), ("inside/a", BODY)):
            archive.writestr(name, body)
    secure.serve("/both.zip", endless(BODY), status(404), whole(stream.getvalue()))
    with pytest.raises(DeepNLPError, match="sends more than 1,058,819 bytes: cut off"):
        fetch("made", tmp_path)
    with pytest.raises(DeepNLPError, match=r"answers 404 .* put its member inside/a at"):
        fetch("made", tmp_path)
    assert names_in(tmp_path) == ["made"]
    assert fetch("made", tmp_path) == {PATH: address, SECOND: address}
    assert verify("made", tmp_path) == {PATH: "right", SECOND: "right"}
    assert names_in(tmp_path) == ["made", SECOND, PATH]
    assert not list(tmp_path.rglob("out"))
    assert not (tmp_path.parent / "out").exists()

    (tmp_path / SECOND).unlink()
    assert fetch("made", tmp_path) == {PATH: "", SECOND: address}


def test_a_packed_download_has_a_sum_of_its_own(secure, known, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    packed = gzip.compress(BODY, mtime=0)
    stated = file_of("x", packed)
    address = f"{secure.address}/text.gz"
    one = Download((file_of(PATH, BODY),), (address,), stated.bytes, stated.sha256)
    known(set_of(one))
    secure.serve("/text.gz", whole(gzip.compress(BODY, 1, mtime=0)), whole(packed))
    with pytest.raises(DeepNLPError, match="could not fetch") as error:
        fetch("made", tmp_path)
    assert f"By hand: fetch {address} and put the file at {tmp_path / PATH}.gz" in str(error.value)
    fetch("made", tmp_path)
    assert verify("made", tmp_path) == {PATH: "right"}


def test_without_a_network_one_line_says_what_to_do(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = "https://127.0.0.1:1/text.txt"
    known(plain_set(PATH, BODY, address, address))
    with pytest.raises(DeepNLPError) as error:
        fetch("made")
    assert str(error.value) == (
        f"could not fetch {PATH} (127.0.0.1:1 no connection: Connection refused). By hand: fetch"
        f" {address} and put the file at {tmp_path / 'datasets' / PATH} (`deepnlp data list made`"
        " shows all addresses)"
    )


# --- What is there -------------------------------------------------------------------------------


def test_what_is_there_is_not_fetched_again(server, known, tmp_path):
    known(set_of(Download((file_of(PATH, BODY),)), Download((file_of(SECOND, b"two"),))))
    (tmp_path / "made").mkdir()
    (tmp_path / f"{PATH}.gz").write_bytes(gzip.compress(BODY))
    server.serve(f"/{SECOND}", whole(b"two"))
    found = fetch("made", tmp_path, mirrors=[server.address])
    assert found == {PATH: "", SECOND: f"{server.address}/{SECOND}"}
    assert [path for path, _ in server.requests] == [f"/{SECOND}"]
    left = tmp_path / "made" / ".text.txt.part"
    left.write_bytes(BODY)  # by a process that was killed after the last step but one
    assert fetch("made", tmp_path) == {PATH: "", SECOND: ""}
    assert not left.exists()


def test_another_file_of_that_name_is_kept_unless_told(server, known, tmp_path):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY))
    (tmp_path / "made").mkdir()
    (tmp_path / PATH).write_bytes(b"my own")
    assert verify("made", tmp_path) == {PATH: "damaged"}
    with pytest.raises(DeepNLPError, match="does not hold the published bytes"):
        fetch("made", tmp_path, mirrors=[server.address])
    assert (tmp_path / PATH).read_bytes() == b"my own"
    assert server.requests == []
    fetch("made", tmp_path, mirrors=[server.address], overwrite=True)
    assert (tmp_path / PATH).read_bytes() == BODY


def test_an_overwrite_that_fails_leaves_the_old_file(server, known, tmp_path):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY[::-1]))
    (tmp_path / "made").mkdir()
    (tmp_path / PATH).write_bytes(b"my own")
    with pytest.raises(DeepNLPError, match="SHA-256 differs"):
        fetch("made", tmp_path, mirrors=[server.address], overwrite=True)
    assert (tmp_path / PATH).read_bytes() == b"my own"


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (BODY, "right"),
        (BODY[:-1], "damaged"),
        (BODY + b"a", "damaged"),
        (BODY[::-1], "damaged"),
        (b"", "damaged"),
        (None, "missing"),
    ],
)
def test_verify(known, tmp_path, content, state):
    known(plain_set(PATH, BODY))
    assert verify("made", tmp_path) == {PATH: "missing"}
    if content is not None:
        (tmp_path / "made").mkdir()
        (tmp_path / f"{PATH}.gz").write_bytes(gzip.compress(content))
        assert verify("made", tmp_path) == {PATH: state}
        (tmp_path / f"{PATH}.gz").write_bytes(gzip.compress(content)[:-3])
        assert verify("made", tmp_path) == {PATH: "damaged"}
        (tmp_path / PATH).write_bytes(content)
        assert verify("made", tmp_path) == {PATH: state}


# --- The disk ------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [transfer, fetching], ids=["transfer", "unpacking"])
def test_a_disk_that_fills_up_loses_nothing(server, known, tmp_path, monkeypatch, module):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY))

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if module is transfer:
        monkeypatch.setattr(transfer.os, "fsync", full)
    else:
        monkeypatch.setattr(fetching, "replacing", full)
    with pytest.raises(DeepNLPError, match="No space left on device; the same command goes on"):
        fetch("made", tmp_path, mirrors=[server.address])
    monkeypatch.undo()
    assert not (tmp_path / PATH).exists()
    known(plain_set(PATH, BODY))
    fetch("made", tmp_path, mirrors=[server.address])
    assert len(server.requests) == 1  # all had come


def test_a_folder_that_cannot_be_written(known, tmp_path):
    known(plain_set(PATH, BODY))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DeepNLPError, match=r"cannot fetch made into .*file"):
        fetch("made", tmp_path / "file", mirrors=["http://127.0.0.1:1"])


# --- Processes -----------------------------------------------------------------------------------

COMMAND = """
import json, sys
from deepnlp.cli.main import main
from deepnlp.datasets import manifest
stated = json.loads(sys.argv[1])
one = manifest._data_set(stated.pop("name"), stated)
manifest.manifest = lambda: {one.name: one}
sys.exit(main(["data", "fetch", one.name, "--mirror", sys.argv[2], "--to", sys.argv[3]]))
"""


def process(server, one, folder):
    arguments = [json.dumps(asdict(one)), server.address, str(folder)]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_killed_fetch_goes_on_where_it_was(server, known, tmp_path, capsys):
    one = plain_set(PATH, BODY)
    known(one)
    server.serve(f"/{PATH}", stalled(BODY, FEW), whole(BODY))
    partial = tmp_path / "made" / ".text.txt.part"
    killed = process(server, one, tmp_path)
    wait_until(lambda: server.requests)
    # What has come is on the disk long before the server's silence ends the transfer.
    soon = transfer.TIMEOUT / 2
    wait_until(lambda: partial.exists() and partial.stat().st_size == FEW, soon)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / PATH).exists()

    assert main(["data", "fetch", "made", "--mirror", server.address, "--to", str(tmp_path)]) == 0
    assert server.asked(f"/{PATH}")[1]["Range"] == f"bytes={FEW}-"
    assert verify("made", tmp_path) == {PATH: "right"}
    assert names_in(tmp_path) == ["made", PATH]


def test_two_processes_at_once_fetch_it_once(server, tmp_path):
    one = plain_set(PATH, BODY)

    def when_released(handler):
        handler.server.release.wait()
        whole(BODY)(handler)

    server.serve(f"/{PATH}", when_released)
    first = process(server, one, tmp_path)
    wait_until(lambda: server.requests)
    second = process(server, one, tmp_path)
    assert b"another process is fetching into" in second.stderr.readline()
    assert second.poll() is None
    server.release.set()
    outputs = [each.communicate()[0].decode() for each in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert outputs[0] == f"{tmp_path / PATH}: fetched, and right\n" + hint(tmp_path)
    assert outputs[1] == f"{tmp_path / PATH}: there, and right\n" + hint(tmp_path)
    assert len(server.requests) == 1


def hint(folder):
    return f"set DEEPNLP_DATA={folder} so that commands find it\n"


def test_a_file_system_without_locks_is_no_reason_to_wait(server, known, tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY))
    assert fetch("made", tmp_path, mirrors=[server.address])


def test_an_interrupted_fetch_keeps_what_came(server, known, tmp_path, monkeypatch, capsys):
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", broken(BODY, HALF), whole(BODY))

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "sha256_of", interrupt)
    options = ["--mirror", server.address, "--to", str(tmp_path)]
    assert main(["data", "fetch", "made", *options]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "deepnlp: interrupted"
    assert not (tmp_path / PATH).exists()
    monkeypatch.undo()
    known(replace(plain_set(PATH, BODY), title="the same"))
    assert main(["data", "fetch", "made", *options]) == 0
    assert len(server.requests) == 2
