"""A server on the loopback interface that behaves as it is told, and data sets that it has."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from deepnlp.datasets.manifest import DataFile, DataSet, Download

CERTIFICATE = Path(__file__).with_name("loopback.pem")


class Handler(BaseHTTPRequestHandler):
    """Answers with the next behaviour of a path; its last one stays."""

    server: Loopback
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        self.close_connection = True
        answers = self.server.answers.get(self.path, [status(404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer(self)

    def reply(self, code, body=b"", length=None, **headers):
        self.send_response(code)
        if length is not False:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


Answer = Callable[[Handler], None]


class Loopback(ThreadingHTTPServer):
    """The server: what it answers, and what it was asked."""

    daemon_threads = True

    def __init__(self, tls=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.release = threading.Event()  # of answers that wait
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the tests."""

    def serve(self, path, *answers):
        self.answers[path] = list(answers)

    def asked(self, path):
        """The headers of all requests for a path."""
        return [headers for asked, headers in self.requests if asked == path]


@contextmanager
def running(tls=False) -> Iterator[Loopback]:
    with Loopback(tls) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.release.set()
            server.shutdown()
            thread.join()


# --- Behaviours ----------------------------------------------------------------------------------


def whole(body: bytes, **headers) -> Answer:
    """The file as a good server gives it, also in part."""

    def answer(handler):
        first = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if first >= len(body):
            handler.reply(416, **headers)
        elif first:
            where = f"bytes {first}-{len(body) - 1}/{len(body)}"
            handler.reply(206, body[first:], Content_Range=where, **headers)
        else:
            handler.reply(200, body, **headers)

    return answer


def unranged(body: bytes) -> Answer:
    """A server that does not know of parts."""
    return lambda handler: handler.reply(200, body)


def status(code: int, **headers: str) -> Answer:
    return lambda handler: handler.reply(code, b"no file here", **headers)


def redirect(address: str, code=302) -> Answer:
    return status(code, Location=address)


def broken(body: bytes, after: int) -> Answer:
    """The connection ends early."""
    return lambda handler: handler.reply(200, body[:after], len(body))


def endless(body: bytes) -> Answer:
    """No length is announced, and the bytes do not end (here after a thousand times the file)."""

    def answer(handler):
        handler.reply(200, body, False)
        for _ in range(1000):
            handler.wfile.write(body)

    return answer


def stalled(body: bytes, after: int) -> Answer:
    """Some bytes, then nothing more."""

    def answer(handler):
        handler.reply(200, body[:after], len(body))
        handler.wfile.flush()
        handler.server.release.wait()

    return answer


def dripping(body: bytes, seconds: float) -> Answer:
    """A byte now and then."""

    def answer(handler):
        handler.reply(200, b"", len(body))
        for k in range(len(body)):
            handler.wfile.write(body[k : k + 1])
            if handler.server.release.wait(seconds):
                return

    return answer


def dripped(text: bytes, before=b"", seconds=0.05) -> Answer:
    """Some bytes as they are, then others by a byte now and then, for ever."""

    def answer(handler):
        handler.wfile.write(before)
        while not handler.server.release.is_set():
            for k in range(len(text)):
                handler.wfile.write(text[k : k + 1])
                if handler.server.release.wait(seconds):
                    return

    return answer


def poured(text: bytes, before=b"") -> Answer:
    """Some bytes, then others again and again, as fast as they are read, for ever."""

    def answer(handler):
        handler.wfile.write(before)
        block = text * 1000  # at once, so that a busy machine pours as well
        while not handler.server.release.is_set():
            handler.wfile.write(block)

    return answer


# --- Data sets -----------------------------------------------------------------------------------


def file_of(path: str, body: bytes, member: str | None = None) -> DataFile:
    return DataFile(path, len(body), hashlib.sha256(body).hexdigest(), member)


def set_of(*downloads: Download, name="made") -> DataSet:
    return DataSet(name, "made up", "none", "nobody", downloads)


def plain_set(path: str, body: bytes, *addresses: str) -> DataSet:
    return set_of(Download((file_of(path, body),), addresses))
