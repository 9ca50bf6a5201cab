"""The fixtures of the tests of fetching."""

from tests.datasets.fixtures import known, only_loopback, other, secure, server  # noqa: F401
