"""One file over HTTP: TLS verified, size bounded, resumed where it broke off."""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import os
import ssl
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from tqdm import tqdm

from deepnlp.errors import DeepNLPError

TIMEOUT = 30.0  # seconds without an answer, or over which the speed is measured
LEAST_SPEED = 1000  # bytes a second
TRIES = 4  # of an address that breaks off
CHUNK = 1 << 16
REDIRECTS = (301, 302, 303, 307, 308)


class TransferError(DeepNLPError):
    """An address does not give what the manifest says; the next one may."""


class BrokenOffError(TransferError):
    """A transfer ended early, in a way that another try may mend."""


@dataclass(frozen=True)
class Source:
    """An address, and what it should serve: at most ``limit`` bytes, of which ``bytes`` are known.

    ``form`` says how the bytes are packed: ``""`` not at all, ``".gz"`` or ``".zip"``.
    """

    address: str
    form: str
    limit: int
    bytes: int | None = None
    sha256: str | None = None


def is_secure(address: str, *, loopback: bool = False) -> bool:
    """Whether an address is https; or, with ``loopback``, http on this very machine.

    >>> is_secure("https://example.org/a"), is_secure("http://example.org/a", loopback=True)
    (True, False)
    """
    parts = urlsplit(address)
    on_this_machine = loopback and parts.scheme == "http" and _is_loopback(parts.hostname)
    return bool(parts.hostname) and (parts.scheme == "https" or on_this_machine)


def download(source: Source, partial: Path, *, timeout: float = TIMEOUT) -> None:
    """Fill a partial file up and check its sum; what broke off is kept for another call."""
    for remaining in reversed(range(TRIES)):
        try:
            resumed = _receive(source, partial, timeout)
        except TransferError as error:
            if not _size(partial):
                discard(partial)
            if isinstance(error, BrokenOffError) and remaining:
                continue
            raise
        if source.sha256 in (None, sha256_of(partial)):
            return
        discard(partial)
        # The two parts may be of two versions: once more, from the start.
        if not (resumed and remaining):
            raise TransferError("its bytes are not the published ones (SHA-256 differs)")


def discard(partial: Path) -> None:
    """Remove a partial file, and the note beside it."""
    for path in (partial, _note(partial)):
        path.unlink(missing_ok=True)


def _size(partial: Path) -> int:
    return partial.stat().st_size if partial.exists() else 0


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- One request ---------------------------------------------------------------------------------


def _receive(source: Source, partial: Path, timeout: float) -> bool:
    """Ask for what is missing and append it; whether there was a part before."""
    if partial.is_symlink() or _note(partial).is_symlink():
        discard(partial)  # what it points to is not ours to write
    have = _size(partial)
    if have and have == source.bytes:
        return True  # only the check is missing
    if have >= source.limit:
        discard(partial)
        have = 0
    headers = {"User-Agent": "deepnlp", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        # With If-Range a file that has changed since is sent from its start.
        validator = _validator(partial, source.address)
        headers |= {"If-Range": validator} if validator else {}
    with _answer(source.address, headers, timeout, partial) as response:
        resumed = response.status == HTTPStatus.PARTIAL_CONTENT
        _check_announced(source, response, have, partial)
        with partial.open("ab" if resumed else "wb") as file:
            if not resumed:
                have = 0
                _take_note(partial, source.address, response)
            _copy(source, response, file, have, timeout)
            os.fsync(file.fileno())
    return resumed


@contextmanager
def _answer(
    address: str, headers: dict[str, str], timeout: float, partial: Path
) -> Iterator[http.client.HTTPResponse]:
    """The response of a server, or what went wrong in a few words."""
    try:
        request = urllib.request.Request(address, headers=headers)
        response = _opener(address).open(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            discard(partial)
            raise BrokenOffError("has another size than the part that is here") from None
        if error.code in REDIRECTS:
            raise TransferError("redirects in a circle, or to nothing") from None
        raise TransferError(f"answers {_status(error.code)}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise TransferError(_in_words(error, timeout)) from None
    with response:
        yield response


def _check_announced(
    source: Source, response: http.client.HTTPResponse, have: int, partial: Path
) -> None:
    """An error if status and headers already say that these are not the bytes asked for."""
    if response.status == HTTPStatus.PARTIAL_CONTENT:
        if not (have and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")):
            discard(partial)
            raise BrokenOffError("sends another part than was asked for")
    elif response.status == HTTPStatus.OK:
        have = 0
    else:
        raise TransferError(f"answers {_status(response.status)}")
    announced = have + (response.length or 0)
    if response.length is not None and source.bytes not in (None, announced):
        raise TransferError(f"has {announced:,} bytes, expected {source.bytes:,}")
    if announced > source.limit:
        raise TransferError(f"has {announced:,} bytes, expected no more than {source.limit:,}")


def _copy(
    source: Source, response: http.client.HTTPResponse, file: IO[bytes], have: int, timeout: float
) -> None:
    """Write what comes, no more than the limit and no slower than the least speed."""
    name = source.address.rpartition("/")[2]
    since, bytes_then = time.monotonic(), have
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
            file.flush()  # what has come is kept, even if the process is killed
            bar.update(len(block))
            if time.monotonic() - since > timeout:
                if have - bytes_then < LEAST_SPEED * timeout:
                    raise TransferError(
                        f"is too slow: {have - bytes_then:,} bytes in {timeout:g} seconds"
                    )
                since, bytes_then = time.monotonic(), have
    if response.length or have < (source.bytes or 0):
        expected = f" of {source.bytes:,}" if source.bytes else ""
        raise BrokenOffError(f"broke off after {have:,}{expected} bytes")


def _read(response: http.client.HTTPResponse, timeout: float) -> bytes:
    """What has arrived, without waiting for a whole chunk."""
    try:
        return response.read1(CHUNK)
    except TimeoutError as error:
        raise TransferError(_in_words(error, timeout)) from None
    except (OSError, http.client.HTTPException) as error:
        raise BrokenOffError(f"broke off ({_in_words(error, timeout)})") from None


# --- What urllib is to do ------------------------------------------------------------------------


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects, but never to an address that is not secure."""

    max_redirections = 5

    def __init__(self, loopback: bool) -> None:
        self.loopback = loopback

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to the new address."""
        if not is_secure(newurl, loopback=self.loopback):
            fp.close()
            raise TransferError(f"redirects to {newurl}, which is not https: refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(address: str) -> urllib.request.OpenerDirector:
    """Opens https with verified certificates; or, for an address on this machine, http."""
    if not is_secure(address, loopback=True):
        raise TransferError("is not https: refused")
    loopback = not is_secure(address)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler({} if loopback else None),
        urllib.request.HTTPHandler()
        if loopback
        else urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(loopback),
    ):
        opener.add_handler(handler)
    return opener


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


# --- The note beside a partial file: whose it is, and which version ------------------------------


def _note(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _take_note(partial: Path, address: str, response: http.client.HTTPResponse) -> None:
    tag = response.headers.get("ETag", "")
    strong = tag if tag.startswith('"') else ""  # a weak tag does not promise the same bytes
    validator = strong or response.headers.get("Last-Modified", "")
    note = {"address": address, "validator": validator}
    _note(partial).write_text(json.dumps(note), encoding="utf-8")


def _validator(partial: Path, address: str) -> str:
    try:
        note = json.loads(_note(partial).read_text(encoding="utf-8"))
        return str(note["validator"]) if note["address"] == address else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


# --- Words ---------------------------------------------------------------------------------------


def _status(code: int) -> str:
    phrase = http.client.responses.get(code)
    return f"{code} ({phrase})" if phrase else str(code)


def _in_words(error: Exception, timeout: float) -> str:
    """Why there is no answer."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout:g} seconds"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {reason.verify_message}"
    if isinstance(reason, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
        return f"no whole HTTP answer: {type(reason).__name__}"
    said = reason.strerror if isinstance(reason, OSError) else None
    return f"no connection: {said or reason}"
