"""What objects hold, to be put back."""

from __future__ import annotations

from typing import Any

import numpy

from deepnlp.gradcheck.walking import holders


class Snapshot:
    """The attributes and the arrays of some objects, to be put back.

    Parameters
    ----------
    owners : list
        The objects; what they hold is put back, too.
    """

    def __init__(self, owners: list[Any]) -> None:
        found = holders(owners, depth=7)
        self._entries = [
            (h.entries, type(h.entries)(h.entries))
            for h in found
            if isinstance(h.entries, dict | list)
        ]
        inside = [h.entries.values() if isinstance(h.entries, dict) else h.entries for h in found]
        arrays = {
            id(one): one
            for entries in inside
            for one in entries
            if isinstance(one, numpy.ndarray) and one.flags.writeable
        }
        self._arrays = [(one, one.copy()) for one in arrays.values()]

    def put_back(self) -> None:
        """Undo what was changed since."""
        for entries, content in self._entries:
            if isinstance(entries, dict):
                entries.clear()
                entries.update(content)
            else:
                entries[:] = content
        for array, content in self._arrays:
            array[...] = content
