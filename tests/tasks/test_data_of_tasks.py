"""What a task says of data that are none."""

from typing import Any

import pytest

from deepnlp.tasks import LanguageModelling, NGrams, SequenceToSequence, Tagging, Word2Vec


@pytest.mark.parametrize("task", [LanguageModelling, NGrams, SequenceToSequence, Tagging, Word2Vec])
@pytest.mark.parametrize("data", [None, "ptb"])
def test_what_is_no_data_is_named(task: Any, data: Any) -> None:
    kind = task.data_kind.__name__
    with pytest.raises(TypeError, match=f"{task.__name__} expects data as a {kind}, got a"):
        task(data)
