"""Fetching from servers that are slow, break off, lie, redirect or change their files."""

import hashlib
import os
import re
import socket
import time

import pytest

from deepnlp.datasets import fetch
from deepnlp.datasets.transfer import Source, TransferError, download, is_secure
from deepnlp.errors import DeepNLPError
from tests.datasets.fixtures import BODY, PATH, names_in
from tests.datasets.loopback import (
    CERTIFICATE,
    broken,
    dripped,
    dripping,
    endless,
    plain_set,
    poured,
    redirect,
    stalled,
    status,
    unranged,
    whole,
)

OTHER = BODY[::-1]  # as long, but another file
HALF = len(BODY) // 2
SOON = 0.3  # seconds


@pytest.fixture
def get(server, known, tmp_path):
    """Fetch a file from the server, which answers in turn as told; the folder is left."""

    def get(*answers, body=BODY, timeout=5.0):
        known(plain_set(PATH, body))
        if answers:
            server.serve(f"/{PATH}", *answers)
        fetch("made", tmp_path, mirrors=[server.address], timeout=timeout)
        assert (tmp_path / PATH).read_bytes() == body
        assert names_in(tmp_path) == ["made", PATH]

    get.folder, get.file = tmp_path, tmp_path / PATH
    get.partial = tmp_path / "made" / ".text.txt.part"
    get.partial.parent.mkdir()
    return get


def refused(get, *answers, kept=0, **options):
    """The message of a fetch that fails; nothing has the file's name; how much is kept."""
    with pytest.raises(DeepNLPError) as error:
        get(*answers, **options)
    assert not get.file.exists()
    assert (get.partial.stat().st_size if get.partial.exists() else 0) == kept
    text = str(error.value)
    assert "\n" not in text
    return text


def ranges(server):
    return [headers.get("Range") for headers in server.asked(f"/{PATH}")]


# --- What goes well ------------------------------------------------------------------------------


def test_a_file_is_fetched_under_its_name(get, server):
    get(whole(BODY))
    assert ranges(server) == [None]
    assert server.asked(f"/{PATH}")[0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("body", [b"a", BODY * 100])
def test_files_of_one_byte_and_of_many_blocks(get, body):
    get(unranged(body), body=body)


def test_a_redirect_on_the_same_machine_is_followed(get, server):
    server.serve("/there", whole(BODY))
    get(redirect(f"{server.address}/there"))


def test_what_broke_off_is_resumed_at_once(get, server):
    get(broken(BODY, 100), broken(BODY, 100), whole(BODY))
    assert ranges(server) == [None, "bytes=100-", "bytes=100-"]


def test_what_broke_off_four_times_is_kept_for_the_next_call(get, server):
    said = refused(get, broken(BODY, HALF), status(503), kept=HALF)
    assert "503 (Service Unavailable)" in said
    assert "the same command goes on from what has come" in said
    get(whole(BODY))
    assert ranges(server)[-1] == f"bytes={HALF}-"


def test_it_is_not_tried_without_end(get, server):
    server.serve(f"/{PATH}.gz", status(404))
    said = refused(get, broken(BODY, HALF), kept=HALF)
    assert len(ranges(server)) == 4
    assert f"broke off after {HALF:,} of {len(BODY):,} bytes" in said


def test_a_complete_part_is_only_checked(get, server):
    get.partial.write_bytes(BODY)
    get(status(500))
    assert ranges(server) == []


def test_a_server_that_ignores_the_range_sends_from_the_start(get, server):
    get(broken(BODY, HALF), unranged(BODY))
    assert ranges(server) == [None, f"bytes={HALF}-"]


# --- A file that changes -------------------------------------------------------------------------


def test_two_parts_that_do_not_fit_are_fetched_again_from_the_start(get, server):
    get(broken(OTHER, HALF), whole(BODY))
    assert ranges(server) == [None, f"bytes={HALF}-", None]


def test_a_part_longer_than_the_file_now_is(get, server):
    get.partial.write_bytes(OTHER[:-1])
    get(status(416), whole(BODY))
    assert ranges(server) == [f"bytes={len(BODY) - 1}-", None]


def test_a_part_that_is_too_long_is_thrown_away(get, server):
    get.partial.write_bytes(BODY + b"more")
    get(whole(BODY))
    assert ranges(server) == [None]


def test_a_link_in_place_of_a_part_is_not_followed(get, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_bytes(b"mine")
    get.partial.symlink_to(secret)
    get(whole(BODY))
    assert secret.read_bytes() == b"mine"


def test_what_a_part_shares_by_a_hard_link_is_not_written(get, tmp_path_factory):
    mine = tmp_path_factory.mktemp("elsewhere") / "mine"
    mine.write_bytes(BODY[:HALF])
    get.partial.hardlink_to(mine)
    get(whole(BODY))
    assert mine.read_bytes() == BODY[:HALF]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_in_place_of_a_part_or_the_lock(get, server):
    os.mkfifo(get.partial)
    get(whole(BODY))
    lock = get.folder / ".fetch.lock"
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(
        DeepNLPError, match=r"cannot fetch made into .*\.fetch\.lock: No such device"
    ):
        get(whole(BODY))
    lock.unlink()
    get.file.unlink()
    os.mkfifo(get.file)
    with pytest.raises(ValueError, match="it is a device or a pipe, and no file"):
        get(whole(BODY))


# --- Lies ----------------------------------------------------------------------------------------


def test_wrong_bytes_never_get_the_name(get, server):
    assert "SHA-256 differs" in refused(get, whole(OTHER))
    assert ranges(server) == [None]  # the same bytes would come again


def test_a_single_wrong_bit_is_noticed(get):
    wrong = bytearray(BODY)
    wrong[HALF] ^= 1
    assert "SHA-256 differs" in refused(get, unranged(bytes(wrong)))


def test_a_file_of_another_size_is_not_even_read(get):
    assert "has 10,241 bytes, expected" in refused(get, unranged(BODY + b"a"))
    assert "has 10,239 bytes, expected" in refused(get, unranged(BODY[:-1]))


def test_a_length_that_is_announced_too_short_or_too_long(get):
    short = lambda handler: handler.reply(200, BODY, 100)  # noqa: E731
    assert "has 100 bytes, expected" in refused(get, short)
    long = lambda handler: handler.reply(200, BODY, len(BODY) + 1)  # noqa: E731
    assert "has 10,241 bytes, expected" in refused(get, long)


def test_a_server_that_sends_without_end_is_cut_off(get):
    assert f"sends more than {len(BODY):,} bytes: cut off" in refused(get, endless(BODY))


def test_an_end_without_an_announced_length_that_comes_too_early(get):
    early = lambda handler: handler.reply(200, BODY[:HALF], False)  # noqa: E731
    assert f"broke off after {HALF:,} of" in refused(get, early, kept=HALF)


def part(where, body):
    return lambda handler: handler.reply(206, body, Content_Range=where)


@pytest.mark.parametrize(
    "wrong",
    [
        part(f"bytes 0-{len(BODY) - 1}/{len(BODY)}", BODY),
        part(f"bytes {HALF + 1}-{len(BODY) - 1}/{len(BODY)}", BODY[HALF + 1 :]),
        part("nonsense", BODY[HALF:]),
        part("", b""),
    ],
)
def test_a_part_that_was_not_asked_for(get, server, wrong):
    get(broken(BODY, HALF), wrong, whole(BODY))
    assert ranges(server) == [None, f"bytes={HALF}-", None]


def test_a_part_where_all_was_asked_for(get):
    said = refused(get, part(f"bytes 0-{HALF - 1}/{len(BODY)}", BODY[:HALF]))
    assert "another part" in said


def test_a_part_of_another_size(get):
    wrong = part(f"bytes {HALF}-{len(BODY)}/{len(BODY) + 1}", BODY[HALF:] + b"a")
    said = refused(get, broken(BODY, HALF), wrong, kept=HALF)
    assert "has 10,241 bytes, expected 10,240" in said


def test_bytes_that_a_server_calls_compressed_are_taken_as_they_are(get):
    get(whole(BODY, Content_Encoding="gzip"))


def test_what_is_no_http(get, server):
    server.serve(f"/{PATH}", lambda handler: handler.wfile.write(b"220 ready\r\n\r\n"))
    assert "no whole HTTP answer: BadStatusLine" in refused(get)


# --- Answers that are no file --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "phrase"),
    [(403, "Forbidden"), (404, "Not Found"), (500, "Internal Server Error"), (204, "No Content")],
)
def test_an_answer_without_the_file_is_named(get, code, phrase):
    assert f"answers {code} ({phrase})" in refused(get, status(code))


def test_an_answer_that_has_no_name(get):
    assert "answers 599; 127" in refused(get, status(599))


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_to_plain_http_is_refused(get, code):
    said = refused(get, redirect("http://example.org/text.txt", code))
    assert "redirects to http://example.org/text.txt, which is not https: refused" in said


@pytest.mark.parametrize(
    "address", ["ftp://127.0.0.1/a", "//example.org/a", "http://127.0.0.1.example.org/a"]
)
def test_no_other_redirect_is_a_way_round(get, address):
    assert "which is not https: refused" in refused(get, redirect(address))


@pytest.mark.parametrize("address", ["file:///etc/passwd", "http://[::1/a"])
def test_redirects_that_lead_to_nothing(get, address):
    refused(get, redirect(address))


def test_a_redirect_in_a_circle(get, server):
    said = refused(get, redirect(f"{server.address}/{PATH}"))
    assert "redirects in a circle" in said


# --- Slow servers, and none ----------------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 100])
def test_a_server_that_falls_silent(get, after):
    said = refused(get, stalled(BODY, after), timeout=SOON, kept=after)
    assert f"no answer within {SOON} seconds" in said


def test_a_server_that_never_answers(get, server):
    server.serve(f"/{PATH}", lambda handler: handler.server.release.wait())
    assert f"no answer within {SOON} seconds" in refused(get, timeout=SOON)


def test_a_server_that_drips(get):
    with pytest.raises(DeepNLPError, match=r"is too slow: \d+ bytes in 0.3 seconds"):
        get(dripping(BODY, 0.02), timeout=SOON)


STATUS = b"HTTP/1.1 200 OK\r\n"
CHUNKS = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)  # all the bytes, and the last chunk
FOREVER = {
    "status line": (b"HTTP/1.1 200 OK", b""),
    "header": (b"a", STATUS + b"X: "),
    "headers": (b"a: b\r\n", STATUS),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n", b""),
    "chunk size": (b"0", CHUNKS),
    "chunk extension": (b"a", CHUNKS + b"5;"),
    "chunks": (b"1\r\na\r\n", CHUNKS),
}


@pytest.mark.parametrize("way", [dripped, poured])
@pytest.mark.parametrize("where", FOREVER)
def test_no_part_of_an_answer_lasts_for_ever(get, where, way):
    """Neither a byte now and then nor what never ends."""
    start = time.monotonic()
    why = r"is too slow|sends more than|no whole HTTP"
    with pytest.raises(DeepNLPError, match=why):
        get(way(*FOREVER[where]), timeout=SOON)
    assert time.monotonic() - start < 5  # some tries, each of 0.3 s


@pytest.mark.parametrize("where", ["status line", "continue", "chunk size"])
def test_what_stands_beside_the_bytes_counts_too(get, where):
    said = refused(get, dripped(*FOREVER[where]), timeout=SOON)
    assert re.search(r"is too slow: \d+ bytes in 0.3 seconds", said)


@pytest.mark.parametrize("way", [dripped, poured])
def test_what_follows_the_bytes_is_left(get, way):
    get(way(b"a: b\r\n", CHUNKS + LAST), timeout=SOON)


def test_a_good_file_in_chunks(get):
    chunks = [BODY[k : k + 100] for k in range(0, len(BODY), 100)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    get(lambda handler: handler.wfile.write(CHUNKS + body + b"0\r\nSeen: all\r\n\r\n"))


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1000000000000\r\n", CHUNKS[len(STATUS) :]])
def test_the_body_of_a_redirect_is_not_read(get, server, head):
    server.serve("/there", whole(BODY))
    there = f"HTTP/1.1 302 Found\r\nLocation: {server.address}/there\r\n".encode()
    get(poured(b"1\r\na\r\n", there + head + b"\r\n"))


def test_a_redirect_of_this_machine_to_https(get, server, secure, monkeypatch):
    secure.serve("/there", whole(BODY))
    there = redirect(f"{secure.address}/there")
    assert "its certificate is not valid" in refused(get, there)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    get(there)


@pytest.mark.parametrize(
    "address", ["https://127.0.0.1:1/", "https://[::1/", "https://127.0.0.1:x/"]
)
def test_a_redirect_to_https_that_leads_to_nothing(get, address):
    refused(get, redirect(address))


def test_a_server_that_drips_after_a_quick_start(get):
    quick = b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY[:5000]
    with pytest.raises(DeepNLPError, match=r"is too slow: \d+ bytes in 0.3 seconds"):
        get(dripped(b"a", STATUS + quick), timeout=SOON)


def test_a_slow_server_that_is_quick_enough(get):
    def steadily(handler):
        handler.reply(200, b"", len(BODY))
        for k in range(0, len(BODY), 2048):
            time.sleep(0.1)
            handler.wfile.write(BODY[k : k + 2048])

    get(steadily, timeout=0.2)


def test_no_server(get, server, known, tmp_path):
    known(plain_set(PATH, BODY))
    with pytest.raises(DeepNLPError, match="no connection: Connection refused"):
        fetch("made", tmp_path, mirrors=["http://127.0.0.1:1/"])


# --- TLS -----------------------------------------------------------------------------------------


def source_of(address):
    return Source(address, len(BODY), len(BODY), hashlib.sha256(BODY).hexdigest())


def test_a_certificate_that_nobody_signed_is_refused(secure, tmp_path, monkeypatch):
    for switch in ("PYTHONHTTPSVERIFY", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.setenv(switch, "0" if switch.startswith("PYTHON") else "")
    secure.serve("/text.txt", whole(BODY))
    with pytest.raises(TransferError, match="its certificate is not valid: self-signed"):
        download(source_of(f"{secure.address}/text.txt"), tmp_path / "part")
    assert secure.requests == []


def test_a_certificate_must_be_that_of_the_host(secure, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    secure.serve("/text.txt", whole(BODY))
    download(source_of(f"{secure.address}/text.txt"), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY

    here = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *others: here("127.0.0.1", *others))
    elsewhere = f"https://example.org:{secure.server_port}/text.txt"
    with pytest.raises(TransferError, match="its certificate is not valid: Hostname mismatch"):
        download(source_of(elsewhere), tmp_path / "other")
    assert len(secure.requests) == 1


def test_https_redirects_to_plain_http_nowhere(secure, server, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    server.serve("/text.txt", whole(BODY))
    secure.serve("/text.txt", redirect(f"{server.address}/text.txt"))
    with pytest.raises(TransferError, match="not https: refused"):
        download(source_of(f"{secure.address}/text.txt"), tmp_path / "part")
    assert server.requests == []


def test_a_plain_address_is_not_opened(tmp_path):
    with pytest.raises(TransferError, match="is not https: refused"):
        download(source_of("http://example.org/text.txt"), tmp_path / "part")


@pytest.mark.parametrize(
    ("address", "https_only", "loopback"),
    [
        ("https://example.org/a", True, True),
        ("http://127.0.0.1:80/a", False, True),
        ("http://127.8.8.8/a", False, True),
        ("http://localhost:80/a", False, True),
        ("http://[::1]:80/a", False, True),
        ("http://example.org/a", False, False),
        ("http://localhost.example.org/a", False, False),
        ("http://localhost@example.org/a", False, False),
        ("http://0.0.0.0/a", False, False),
        ("http://10.0.0.1/a", False, False),
        ("http:///a", False, False),
        ("https:///a", False, False),
        ("ftp://127.0.0.1/a", False, False),
        ("file:///a", False, False),
        ("a", False, False),
    ],
)
def test_what_is_secure(address, https_only, loopback):
    assert (is_secure(address), is_secure(address, loopback=True)) == (https_only, loopback)


def test_no_proxy_stands_before_this_machine(get, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    get(whole(BODY))
