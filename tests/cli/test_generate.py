"""``generate --samples``: several continuations that grow side by side."""

import numpy as np
import pytest

from deepnlp.generation import generate, generate_many
from deepnlp.training import load

OPTIONS = ["--prompt", "The cat", "--length", 8, "--seed", 3, "--top-k", 9]


@pytest.fixture
def model(run_folder):
    return load(run_folder)


def test_samples_are_generate_many_with_a_blank_line_between(deepnlp, run_folder, model):
    texts = generate_many(model, ["The cat"] * 4, 8, seed=3, top_k=9)
    assert deepnlp("generate", run_folder, *OPTIONS, "--samples", 4).out == (
        "\n\n".join(texts) + "\n"
    )


def test_the_first_samples_do_not_depend_on_how_many_follow(deepnlp, run_folder):
    samples = [
        deepnlp("generate", run_folder, *OPTIONS, "--samples", n, "--json").json["samples"]
        for n in (2, 5)
    ]
    assert [len(texts) for texts in samples] == [2, 5]
    assert samples[1][:2] == samples[0]


def test_one_sample_is_the_same_as_text_and_as_json(deepnlp, run_folder, model):
    text = generate(model, "The cat", 8, seed=3, top_k=9)
    assert deepnlp("generate", run_folder, *OPTIONS).out == text + "\n"
    printed = deepnlp("generate", run_folder, *OPTIONS, "--json").json
    assert printed == {"prompt": "The cat", "seed": 3, "samples": [text]}


def test_every_sample_stops_at_the_end_of_its_sentence(deepnlp, run_folder, model):
    options = ["--length", 300, "--seed", 5, "--stop-at-eos", "--samples", 3, "--json"]
    samples = deepnlp("generate", run_folder, *options).json["samples"]
    children = np.random.default_rng(5).spawn(3)
    assert samples == [generate(model, "", 300, rng=rng, stop_at_eos=True) for rng in children]
    assert all(text.count("\n") == 1 for text in samples)
