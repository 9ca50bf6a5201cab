"""The contents of objects, to be put back."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy

from deepnlp.gradcheck.walking import holders


class Snapshot:
    """The attributes and the arrays of some objects, to be put back.

    Parameters
    ----------
    owners : list
        The objects; what they hold is put back, too.

    Attributes
    ----------
    ids : set of int
        The ``id`` of each object.
    """

    def __init__(self, owners: list[Any]) -> None:
        found = holders(owners, cells=True)
        self.ids = {id(holder.owner) for holder in found}
        self._entries = [(h.entries, _copied(h.entries)) for h in found]
        self._entries = [one for one in self._entries if one[1] is not None]
        inside = [
            h.entries.values() if isinstance(h.entries, Mapping) else h.entries for h in found
        ]
        arrays = {
            id(one): one
            for entries in inside
            for one in entries
            if isinstance(one, numpy.ndarray) and one.flags.writeable
        }
        self.ids |= set(arrays)
        self._arrays = [(one, one.copy()) for one in arrays.values()]

    def put_back(self) -> None:
        """Undo what was changed since."""
        for entries, content in self._entries:
            if isinstance(content, dict):
                for key in [key for key in entries if key not in content]:
                    del entries[key]
                entries.update(content)
            else:
                entries.clear()
                entries.extend(content)
        for array, content in self._arrays:
            array[...] = content


def _copied(entries: Any) -> Any:
    """A copy of what can be put back; None of a tuple."""
    if isinstance(entries, Mapping):
        return dict(entries)
    return list(entries) if isinstance(entries, list | deque) else None
