"""What the tests of fetching share: a server, a manifest of their own, and no network beyond."""

import socket

import pytest

from deepnlp.datasets import manifest
from tests.datasets.loopback import running

PATH = "made/text.txt"
BODY = bytes(range(256)) * 40  # 10,240 bytes, in which no two neighbouring parts are equal


@pytest.fixture
def only_loopback(monkeypatch):
    """A test that asks for another machine fails."""
    for variable in ("DEEPNLP_MIRROR", "DEEPNLP_DATA"):
        monkeypatch.delenv(variable, raising=False)
    known = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        assert host in ("127.0.0.1", "localhost"), f"a test asked for {host}"
        return known(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def server(only_loopback):
    with running() as server:
        yield server


@pytest.fixture
def other(only_loopback):
    """Another server."""
    with running() as server:
        yield server


@pytest.fixture
def secure(only_loopback):
    """A server with TLS, whose certificate nobody has signed."""
    with running(tls=True) as server:
        yield server


@pytest.fixture
def known(only_loopback, monkeypatch):
    """Put a data set in place of the manifest."""

    def put(one):
        monkeypatch.setattr(manifest, "manifest", lambda: {one.name: one})

    return put


def names_in(folder):
    """Every file and folder below a folder, the lock left out."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return [name for name in found if name != ".fetch.lock"]
