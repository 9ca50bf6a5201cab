"""Files with mistakes in them: bytes changed, values of JSON and TOML replaced by others."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

NUMBERS = [
    b"nan",
    b"inf",
    b"-1",
    b"0",
    b"1e999",
    b"9" * 5000,
    b"1.5",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xff",
]
MARKS = [
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b",",
    b'"',
    b"{",
    b"[" * 3000,
    b"=",
    b":",
    b"\xe2\x80\xa8",
    b"#",
]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([1.5, -1.0, 1e300, 0, 1, 10**12, "", "lstm", "é", "\ud800"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """A file with one to four spans changed, left out, repeated or put in; or anything at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=60))
    data = whole
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        span = data[start:end]
        what = draw(st.sampled_from(["out", "twice", "cut", "put", "bytes"]))
        if what == "cut":
            data = data[:start]
        elif what == "out":
            data = data[:start] + data[end:]
        elif what == "twice":
            data = data[:end] + span + data[end:]
        elif what == "put":
            data = data[:start] + draw(st.sampled_from(NUMBERS + MARKS)) + data[end:]
        else:
            data = data[:start] + draw(st.binary(min_size=1, max_size=4)) + data[end:]
    return data


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values of a tree of dicts and lists."""
    inner = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [path] * bool(path) + [p for key, value in inner for p in places(value, (*path, key))]


@st.composite
def changed(draw: Any, tree: dict[str, Any]) -> dict[str, Any]:
    """A tree with up to three values replaced or left out, and now and then one put in."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        found = places(tree)
        if not found:
            break
        *path, last = draw(st.sampled_from(found))
        holder = tree
        for key in path:
            holder = holder[key]
        if draw(st.integers(0, 3)) == 0:
            del holder[last]
        else:
            holder[last] = draw(JSON)
    if draw(st.integers(0, 4)) == 0:
        tree[draw(st.text(max_size=5))] = draw(JSON)
    return tree
