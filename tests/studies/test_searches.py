"""A search as it is declared: its space, its points, and what is refused."""

import pytest

from deepnlp.training import TrainConfig, configure
from studies.parameter import build_parameter as parameter
from studies.parameter import parse
from studies.search import build_search as search
from studies.search import load_search
from studies.study import declared_names

SPACE = {"dropout": {"choices": [0.1, 0.2]}, "lr": {"low": 1, "high": 10}}


def points(name, **values):
    return parameter(name, values, TrainConfig()).points()


def test_the_points_of_a_parameter():
    assert points("dropout", low=0.1, high=0.5, step=0.1) == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert points("hidden_size", low=100, high=300, step=100) == [100, 200, 300]
    assert points("layers", low=1, high=3) == [1, 2, 3]
    assert points("lr", choices=[5, 20]) == [5.0, 20.0]
    assert points("lr", low=5, high=20) is None
    assert points("hidden_size", low=10, high=1000, log=True) is None
    assert points("output_bias", choices=[True, False]) == [True, False]


def test_a_drawn_value_is_one_that_can_be_typed():
    steps = parameter("dropout", {"low": 0.1, "high": 0.7, "step": 0.2}, TrainConfig())
    assert steps.tidy(0.1 + 0.2) == 0.3
    drawn = parameter("lr", {"low": 1.23456, "high": 40, "log": True}, TrainConfig())
    assert drawn.tidy(17.382911) == 17.38
    assert drawn.tidy(1.23457) == 1.235
    assert drawn.tidy(1.234561) == 1.235  # and never below the lowest
    assert drawn.tidy(1.23456) >= 1.23456
    size = parameter("hidden_size", {"low": 10, "high": 100000, "log": True}, TrainConfig())
    assert size.tidy(73219) == 73220
    assert isinstance(size.tidy(73219), int)


def test_which_values_a_parameter_has():
    lr = parameter("lr", {"low": 1, "high": 10}, TrainConfig())
    assert lr.contains(1.0)
    assert not lr.contains(10.5)
    layers = parameter("layers", {"low": 1, "high": 5, "step": 2}, TrainConfig())
    assert [n for n in range(7) if layers.contains(n)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("said", "name", "values"),
    [
        ("lr=5:40", "lr", {"low": 5, "high": 40}),
        ("lr=1e-3:0.1:log", "lr", {"low": 0.001, "high": 0.1, "log": True}),
        ("hidden_size=100:300:50", "hidden_size", {"low": 100, "high": 300, "step": 50}),
        ("cell=lstm,gru", "cell", {"choices": ["lstm", "gru"]}),
        ("output_bias=true,false", "output_bias", {"choices": [True, False]}),
        ("dropout=0.5", "dropout", {"choices": [0.5]}),
    ],
)
def test_a_parameter_on_the_command_line(said, name, values):
    assert parse(said) == (name, values)


@pytest.mark.parametrize("said", ["lr", "=1:2", "lr=", "lr=a:b", "lr=1:2:exp"])
def test_what_is_no_parameter(said):
    with pytest.raises(ValueError, match=said):
        parse(said)


def test_a_grid_has_all_points_in_order():
    space = {"dropout": {"choices": [0.1, 0.2]}, "layers": {"low": 1, "high": 3}}
    grid = search("grid", {"space": space, "sampler": "grid"})
    assert grid.trials == 6
    points = list(grid.points())
    assert len(points) == 6
    assert [points[k] for k in (0, 1, 5)] == [
        {"dropout": 0.1, "layers": 1},
        {"dropout": 0.1, "layers": 2},
        {"dropout": 0.2, "layers": 3},
    ]


def test_options_that_have_the_same_value():
    space = {"embed_size+hidden_size": {"choices": [8, 16]}}
    found = search("sizes", {"space": space, "options": {"tie": "tied"}})
    config = found.options({"embed_size+hidden_size": 16})
    assert (config.embed_size, config.hidden_size) == (16, 16)
    assert found.values(config) == {"embed_size+hidden_size": 16}


def test_the_options_are_those_of_the_recipe_and_the_file_and_have_a_seed():
    content = {"space": SPACE, "trials": 3, "recipe": "book-rnnlm", "options": {"epochs": 2}}
    found = search("some", content)
    assert found.config == configure("book-rnnlm", {"epochs": 2, "seed": found.config.seed})
    assert found.config.seed is not None
    assert found.title == "A search for dropout and lr"


@pytest.mark.parametrize("name", ["lm", "seq2seq", "tag"])
def test_a_file_with_all_options_is_the_same_search(tmp_path, name):
    space = {
        "dropout": {"low": 0, "high": 0.5, "step": 0.25},
        "lr": {"low": 0.01, "high": 1, "log": True},
        "hidden_size": {"choices": [8, 9]},
    }
    content = {"space": space, "trials": 7, "options": {"task": name}, "text": 'two\n"lines"'}
    found = search("some", content)
    path = tmp_path / "some.toml"
    path.write_text(found.to_toml(), encoding="utf-8")
    again = load_search(str(path))
    assert again.differences(found) == []
    assert (again.text, again.title, again.trials) == (found.text, found.title, 7)
    assert again.options({"dropout": 0.25, "lr": 0.5, "hidden_size": 9}) == found.options(
        {"dropout": 0.25, "lr": 0.5, "hidden_size": 9}
    )
    assert again.space == found.space


def test_which_way_is_better():
    assert search("a", {"space": SPACE, "trials": 1}).better is min
    options = {"task": "seq2seq", "metric": "accuracy"}
    accuracy = search("a", {"space": SPACE, "trials": 1, "options": options})
    assert (accuracy.metric, accuracy.better) == ("accuracy", max)
    options["metric"] = "perplexity"
    perplexity = search("a", {"space": SPACE, "trials": 1, "options": options})
    assert (perplexity.metric, perplexity.better) == ("perplexity", min)


def test_what_differs_is_named():
    then = search("a", {"space": SPACE, "trials": 5, "options": {"epochs": 3}})
    space = {"dropout": {"choices": [0.1, 0.2, 0.3]}, "lr": SPACE["lr"]}
    now = search("a", {"space": space, "trials": 4, "options": {"epochs": 4}, "pruner": "none"})
    assert now.differences(then) == [
        "trials was 5, is 4",
        "pruner was 'median', is 'none'",
        "epochs was 3, is 4",
        "space was {'dropout': '0.1, 0.2', 'lr': '1 to 10'}, "
        "is {'dropout': '0.1, 0.2, 0.3', 'lr': '1 to 10'}",
    ]
    more = search("a", {"space": SPACE, "trials": 50, "options": {"epochs": 3}, "title": "More"})
    assert more.differences(then) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": {}}, "the space is empty"),
        ({"space": {"rl": {"choices": [1]}}}, "no option 'rl' to search: expected one of "),
        ({"space": {"lr": {"low": 5, "high": 1}}}, "low should be below high, lr has 5 and 1"),
        ({"space": {"lr": {"low": 5}}}, "lr needs choices, or low and high"),
        ({"space": {"lr": {"low": 0, "high": 1, "log": True}}}, "lr .*above 0"),
        ({"space": {"dropout": {"low": 0, "high": 1, "log": True}}}, "dropout .*below 1, got 1"),
        ({"space": {"lr": {"low": 1, "high": 2, "log": True, "step": 1}}}, "it has no step"),
        ({"space": {"lr": {"low": 1, "high": 2, "step": 0}}}, "step of lr .*above 0, got 0"),
        ({"space": {"layers": {"low": 1, "high": 2, "step": 0.5}}}, "whole number, above 0"),
        ({"space": {"layers": {"low": 1, "high": 2.5}}}, "layers should be a whole number.*2.5"),
        ({"space": {"lr": {"low": 1, "high": 2, "step": 0.3}}}, "steps of 0.3 do not lead"),
        ({"space": {"dropout": {"low": -1, "high": 0.5}}}, "dropout should be a number, 0 or more"),
        ({"space": {"dropout": {"choices": [0.1, 1.5]}}}, "dropout should be .*got 1.5"),
        ({"space": {"cell": {"choices": ["lstm", "ltsm"]}}}, "cell should be one of .*'ltsm'"),
        ({"space": {"cell": {"low": 1, "high": 2}}}, "cell is no number"),
        ({"space": {"lr": {"choices": [1, 1.0]}}}, "a choice of lr is there twice"),
        ({"space": {"lr": {"choices": [1], "log": True}}}, "lr has choices and a range"),
        ({"space": {"lr": {"choice": [1]}}}, "lr has no 'choice': expected choices, "),
        ({"space": {"lr": 3}}, "lr should be a table"),
        ({"space": {"hidden_size": {"choices": [[4, 4], [8, 8]]}}}, "should be one value"),
        ({"space": {**SPACE, "lr+dropout": {"choices": [0.1]}}}, "dropout is in two parameters"),
        ({"options": {"lr": 3.0}}, "lr is in the space, and has a fixed value too"),
        ({"options": {"rl": 3.0}}, "unknown option 'rl'"),
        ({"trials": 0}, "trials should be a whole number, 1 or more .*, got 0"),
        ({"trials": None}, "trials is missing"),
        ({"trials": 1.5}, "trials should be a whole number, 1 or more .*, got 1.5"),
        ({"sampler": "cma"}, "sampler should be one of 'tpe', 'random', 'grid', got 'cma'"),
        ({"sampler": "grid"}, "a grid needs choices or a step for lr"),
        ({"pruner": "hyperband"}, "pruner should be one of 'median', 'halving', 'none'"),
        ({"warmup_epochs": -1}, "warmup_epochs should be a whole number, 0 or more, got -1"),
        ({"seed": 3}, "the search has no 'seed': expected .*sampler_seed"),
        ({"space": {"layers": {"low": 1, "high": 2}}}, "only 2 points, too few for 5 trials"),
    ],
)
def test_what_is_wrong_is_refused(changes, message):
    content = {"space": SPACE, "trials": 5, **changes}
    with pytest.raises(ValueError, match=message):
        search("some", {key: value for key, value in content.items() if value is not None})


def test_the_place_of_a_mistake(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text('[space.lr]\nlow = "a"\nhigh = 2\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"some\.toml: lr should be a number"):
        load_search(str(path))
    with pytest.raises(ValueError, match="unknown search 'dropout': expected one of "):
        load_search("dropout")
    with pytest.raises(FileNotFoundError, match="no configuration"):
        load_search(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", declared_names("search"))
def test_every_search_that_comes_with_deepnlp_can_be_run(name):
    found = load_search(name)
    assert found.title
    assert found.text
    assert found.trials <= 100


@pytest.mark.parametrize(
    "space",
    ["lr=0.1:0.5:1e-300", "lr=0.1:0.5:1e-9", "lr=1:2:0.000001", "seed=0:1000000000"],
)
def test_a_space_with_too_many_points_is_refused_at_once(space):
    name, table = parse(space)
    with pytest.raises(ValueError, match=f"{name} has more than 100,000 values"):
        search("a", {"space": {name: table}, "trials": 2})
