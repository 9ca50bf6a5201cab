"""Archives that want out of their folder, or more of the disk than the manifest grants."""

import gzip
import io
import stat
import struct
import zipfile

import pytest

from deepnlp.datasets import fetching
from deepnlp.datasets.fetching import unpack
from deepnlp.datasets.transfer import CHUNK, TransferError
from tests.datasets.fixtures import BODY, names_in
from tests.datasets.loopback import file_of

FILE = file_of("made/text.txt", BODY, "inside/text.txt")


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    """A .zip file of (name or ZipInfo, bytes)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, body in members:
            archive.writestr(name, body)
    return stream.getvalue()


@pytest.fixture
def attempt(tmp_path):
    """Unpack bytes into a folder; gives what is there then. Beside it nothing may appear."""

    def attempt(packed, form, file=FILE):
        (tmp_path / "partial").write_bytes(packed)
        folder = tmp_path / "data"
        try:
            unpack(tmp_path / "partial", form, file, folder / file.path)
        finally:
            assert {path.name for path in tmp_path.iterdir()} <= {"data", "partial"}
        assert (folder / file.path).read_bytes() == BODY
        return names_in(folder)

    attempt.folder = tmp_path / "data"
    return attempt


def refused(attempt, packed, form, match):
    with pytest.raises(TransferError, match=match):
        attempt(packed, form)
    assert not (attempt.folder.parent / "partial").exists()
    assert names_in(attempt.folder) == ["made"]


@pytest.mark.parametrize("form", ["", ".gz", ".zip"])
def test_each_form(attempt, form):
    packed = {"": BODY, ".gz": gzip.compress(BODY), ".zip": zipped((FILE.member, BODY))}[form]
    assert attempt(packed, form) == ["made", "made/text.txt"]


HOSTILE = ["../out.txt", "/tmp/deepnlp-out.txt", "a/../../../out.txt", "..\\out.txt", "C:\\out.txt"]


@pytest.mark.parametrize("name", HOSTILE)
def test_members_that_want_out_are_never_written(attempt, name):
    packed = zipped((name, b"evil"), (FILE.member, BODY), ("inside/", b""), ("other.txt", b"more"))
    assert attempt(packed, ".zip") == ["made", "made/text.txt"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_are_never_made(attempt, kind):
    odd = zipfile.ZipInfo("inside/link")
    odd.external_attr = (kind | 0o777) << 16
    assert attempt(zipped((odd, b"/etc/passwd"), (FILE.member, BODY)), ".zip")
    link = zipfile.ZipInfo(FILE.member)
    link.external_attr = (kind | 0o777) << 16
    (attempt.folder / FILE.path).unlink()
    refused(attempt, zipped((link, b"/etc/passwd")), ".zip", "SHA-256 differs")


def test_the_name_inside_is_never_the_name_outside(attempt):
    escaping = file_of("made/text.txt", BODY, "../../text.txt")
    assert attempt(zipped((escaping.member, BODY)), ".zip", escaping) == ["made", "made/text.txt"]


@pytest.mark.parametrize("form", [".gz", ".zip"])
def test_a_bomb_is_stopped_at_the_size_that_is_stated(attempt, form, monkeypatch):
    bomb = bytes(20_000_000)
    packed = gzip.compress(bomb) if form == ".gz" else zipped((FILE.member, bomb))
    assert len(packed) < 20_000
    blocks, sizes = fetching._blocks, []

    def counted(*arguments):
        for block in blocks(*arguments):
            sizes.append(len(block))
            yield block

    monkeypatch.setattr(fetching, "_blocks", counted)
    refused(attempt, packed, form, r"unpacks to more than the 10,240 bytes of made/text\.txt")
    assert sum(sizes) <= len(BODY) + CHUNK


def test_a_bomb_of_a_method_that_is_not_bounded_is_not_opened(attempt):
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed = zipped((FILE.member, BODY), method=method)
        refused(attempt, packed, ".zip", "packed in an unusual way")


def test_of_members_of_one_name_none_but_the_published_one_is_taken(attempt):
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed = zipped((FILE.member, BODY), (FILE.member, BODY[::-1]))
    refused(attempt, packed, ".zip", "SHA-256 differs")


@pytest.mark.parametrize("body", [b"", BODY[:-1], BODY[::-1]])
@pytest.mark.parametrize("form", ["", ".gz", ".zip"])
def test_other_bytes(attempt, body, form):
    packed = {"": body, ".gz": gzip.compress(body), ".zip": zipped((FILE.member, body))}[form]
    refused(attempt, packed, form, "not those of made/text.txt")


def test_a_member_that_is_missing(attempt):
    refused(attempt, zipped(("text.txt", BODY)), ".zip", "cannot be unpacked.*inside/text.txt")


def test_an_encrypted_member(attempt):
    packed = bytearray(zipped((FILE.member, BODY)))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        where = packed.index(mark) + offset
        packed[where : where + 2] = struct.pack("<H", 1)
    refused(attempt, bytes(packed), ".zip", "cannot be unpacked")


@pytest.mark.parametrize("form", [".gz", ".zip"])
def test_an_archive_that_is_cut_or_changed_anywhere(attempt, form):
    whole = gzip.compress(BODY) if form == ".gz" else zipped((FILE.member, BODY))
    for k in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[k] ^= 0xFF
        for packed in (whole[:k], bytes(changed)):
            try:
                attempt(packed, form)  # what does not matter, such as a date, may be changed
            except TransferError:
                assert not (attempt.folder / FILE.path).exists()
            else:
                (attempt.folder / FILE.path).unlink()
