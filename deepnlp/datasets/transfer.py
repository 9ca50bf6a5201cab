"""One file over HTTP: TLS verified, size bounded, resumed where it broke off."""

import hashlib
import http.client
import io
import math
import os
import re
import ssl
import stat
import time
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from tqdm import tqdm

from deepnlp.errors import DeepNLPError

TIMEOUT = 30.0  # seconds to wait for the head of an answer, and the span of a measured speed
LEAST_SPEED = 1000  # bytes a second
TRIES = 4  # of an address that breaks off
CHUNK = 1 << 16
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")  # names of this machine


class TransferError(DeepNLPError):
    """An address does not give what the manifest says; the next one may."""


class BrokenOffError(TransferError):
    """A transfer ended early, in a way that another try may mend."""


class Source(NamedTuple):
    """An address and what it should serve: at most ``limit`` bytes; ``bytes``, if that is known."""

    address: str
    limit: int
    bytes: int | None = None
    sha256: str | None = None


def is_secure(address: str, *, loopback: bool = False) -> bool:
    """Return whether an address is https; or, with ``loopback``, http on this very machine.

    >>> is_secure("https://example.org/a"), is_secure("http://example.org/a", loopback=True)
    (True, False)
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    on_this_machine = loopback and parts.scheme == "http" and LOOPBACK.fullmatch(host)
    return bool(host) and (parts.scheme == "https" or bool(on_this_machine))


def download(source: Source, partial: Path, *, timeout: float = TIMEOUT) -> None:
    """Fill a partial file up and check its sum; what broke off is kept for another call."""
    if os.path.lexists(partial) and not _is_ours(partial):
        partial.unlink()
    for remaining in reversed(range(TRIES)):
        had = _size(partial)
        try:
            _receive(source, partial, timeout)
        except TransferError as error:
            if not _size(partial):
                partial.unlink(missing_ok=True)
            if isinstance(error, BrokenOffError) and remaining:
                continue
            raise
        if source.sha256 in (None, sha256_of(partial)):
            return
        partial.unlink()
        # The two parts may be of two versions: once more, from the start.
        if not (had and remaining):
            raise TransferError("its bytes are not the published ones (SHA-256 differs)")


def _is_ours(partial: Path) -> bool:
    """Return whether this is a plain file that no other link shares, and so ours to write."""
    status = partial.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _size(partial: Path) -> int:
    return partial.stat().st_size if partial.exists() else 0


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- One request ---------------------------------------------------------------------------------


def _receive(source: Source, partial: Path, timeout: float) -> None:
    """Ask for what is missing and append it."""
    have = _size(partial)
    if have and have == source.bytes:
        return  # only the check is missing
    if have >= source.limit:
        partial.unlink()
        have = 0
    with _answer(source.address, have, timeout) as response:
        try:
            have = _begin(source, response, have)
        except BrokenOffError:
            partial.unlink(missing_ok=True)
            raise
        with partial.open("ab" if have else "wb") as file:
            _copy(source, response, file, have, timeout)
            os.fsync(file.fileno())


def _answer(address: str, have: int, timeout: float) -> Any:
    """Return the response to a request for what follows ``have`` bytes, whatever its status."""
    if not is_secure(address, loopback=True):
        raise TransferError("is not https: refused")
    headers = {"User-Agent": "deepnlp", "Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={have}-"} if have else {}
    opener = urllib.request.build_opener(
        _Connections(context=ssl.create_default_context()),
        urllib.request.ProxyHandler(None if is_secure(address) else {}),
        _Redirects,
    )
    try:
        return opener.open(urllib.request.Request(address, headers=headers), timeout=timeout)
    except HTTPError as error:
        return error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise TransferError(_in_words(error, timeout)) from None


class _Paced(io.RawIOBase):
    """The bytes of an answer: its head within the timeout, then no slower than the least speed."""

    def __init__(self, connection: Any, timeout: float) -> None:
        self._connection, self._timeout = connection, timeout
        self.expect(math.inf)

    def expect(self, speed: float) -> None:
        """Expect so many bytes a second from now on, measured over the timeout."""
        self._speed, self._since, self._came = speed, time.monotonic(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Put what has arrived into a buffer, and return its length."""
        count: int = self._connection.readinto(buffer)
        self._came += count
        if time.monotonic() - self._since > self._timeout:
            if self._came < self._speed * self._timeout:
                slow = f"{self._came:,} bytes in {self._timeout:g} seconds"
                raise TransferError(f"is too slow: {slow}")
            self.expect(self._speed)
        return count

    def close(self) -> None:
        self._connection.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response whose bytes are paced."""

    def __init__(self, sock: Any, *others: Any, **options: Any) -> None:
        super().__init__(sock, *others, **options)
        self._paced = _Paced(self.fp.detach(), sock.gettimeout())
        self.fp = io.BufferedReader(self._paced)

    def begin(self) -> None:
        """Read the head."""
        super().begin()
        self._paced.expect(LEAST_SPEED)

    def _read_and_discard_trailer(self) -> None:
        """Leave what follows the last chunk: it is of no use, and may have no end."""


class _Connections(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        def connection(*where: Any, **how: Any) -> Any:
            made = http_class(*where, **how)
            made.response_class = _Response
            return made

        return super().do_open(connection, req, **options)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects, but never to an address that is not secure."""

    max_redirections = 5

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request to the new address."""
        fp.length, fp.chunked = 0, False  # urllib would read the whole body
        if not is_secure(newurl, loopback=not is_secure(req.full_url)):
            fp.close()
            raise TransferError(f"redirects to {newurl}, which is not https: refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _begin(source: Source, response: Any, have: int) -> int:
    """Return the byte at which a response begins; raise if it is not what was asked for."""
    status = response.status
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise BrokenOffError("has another size than the part that is here")
    if 300 <= status < 400:
        raise TransferError("redirects in a circle, or to nothing")
    if status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        phrase = http.client.responses.get(status)
        raise TransferError(f"answers {status} ({phrase})" if phrase else f"answers {status}")
    if status == HTTPStatus.OK:
        have = 0
    elif not (have and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")):
        raise BrokenOffError("sends another part than was asked for")
    announced = have + (response.length or 0)
    if response.length is not None and source.bytes not in (None, announced):
        raise TransferError(f"has {announced:,} bytes, expected {source.bytes:,}")
    if announced > source.limit:
        raise TransferError(f"has {announced:,} bytes, expected no more than {source.limit:,}")
    return have


def _copy(source: Source, response: Any, file: BinaryIO, have: int, timeout: float) -> None:
    """Write what comes, no more than the limit."""
    name = source.address.rpartition("/")[2]
    with tqdm(
        total=source.bytes, initial=have, desc=name, unit="B", unit_scale=True, disable=None,
        leave=False, dynamic_ncols=True,
    ) as bar:  # fmt: skip
        while block := _read(response, timeout):
            have += len(block)
            if have > source.limit:
                file.truncate(0)
                raise TransferError(f"sends more than {source.limit:,} bytes: cut off")
            file.write(block)
            file.flush()  # the bytes are kept even if the process is killed
            bar.update(len(block))
    if response.length or have < (source.bytes or 0):
        expected = f" of {source.bytes:,}" if source.bytes else ""
        raise BrokenOffError(f"broke off after {have:,}{expected} bytes")


def _read(response: Any, timeout: float) -> bytes:
    """Return the bytes that have arrived, without waiting for a whole chunk."""
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        kind = TransferError if isinstance(error, TimeoutError) else BrokenOffError
        raise kind(_in_words(error, timeout)) from None


def _in_words(error: Exception, timeout: float) -> str:
    """Return the reason why there is no answer."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout:g} seconds"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {reason.verify_message}"
    if isinstance(reason, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
        return f"no whole HTTP answer: {type(reason).__name__}"
    return f"no connection: {getattr(reason, 'strerror', None) or reason}"
