"""``deepnlp train``: from a text file to a run folder, and on from there."""

import json
import re
import shutil
import signal
import subprocess
import sys
from typing import Annotated

import pytest

from deepnlp.generation import generate
from deepnlp.options import Option
from deepnlp.tasks import TASKS, Task
from deepnlp.training import TrainConfig, Trainer, load
from tests.cli.conftest import TINY, contents

FILES = {
    ".lock",
    "config.toml",
    "metrics.jsonl",
    "checkpoint.npz",
    "best.npz",
    "learning_curve.png",
    "result.json",
    "steps.jsonl",
}


def test_a_run_from_text_to_figure(deepnlp, text_file, tmp_path):
    folder = tmp_path / "run"
    done = deepnlp("train", "--corpus", text_file, "--out", folder, *TINY)
    assert done.code == 0
    assert {path.name for path in folder.iterdir()} == FILES
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))

    assert f"fingerprint {result['corpus']['fingerprint'][:12]}" in done.err
    assert "epoch 1/1" in done.err
    assert "layers.0.W" in done.out
    for name, figures in {"model": result["perplexity"], **result["baselines"]}.items():
        row = next(line for line in done.out.splitlines() if line.startswith(name))
        assert row.split()[1:] == [f"{figures['valid']:.2f}", f"{figures['test']:.2f}"]
    sentence = done.out.split("sampled: ")[1].splitlines()[0]
    text = generate(load(folder), length=60, temperature=0.8, top_p=0.95, seed=0)
    assert sentence in text.splitlines()
    assert f"learning curve: {folder / 'learning_curve.png'}" in done.out


def test_every_option_reaches_the_configuration(deepnlp, text_file, tmp_path):
    folder = tmp_path / "run"
    options = ["--corpus", text_file, "--cell", "gru", "--reset-after", "--no-output-bias"]
    options += ["--lr", "0.5", "--optimizer", "sgd", "--tie", "none", "--no-baselines"]
    assert deepnlp("train", "--out", folder, *TINY, *options).code == 0
    config = TrainConfig.load(folder / "config.toml")
    assert (config.cell, config.reset_after, config.output_bias) == ("gru", True, False)
    assert (config.lr, config.optimizer, config.tie) == (0.5, "sgd", "none")
    assert (config.baselines, config.hidden_size) == (False, 8)


def test_a_size_for_each_layer(deepnlp, text_file, tmp_path):
    folder = tmp_path / "run"
    options = [*TINY, "--layers", "2", "--hidden-size", "6,8", "--weight-drop", "0.2"]
    assert deepnlp("train", "--corpus", text_file, "--out", folder, *options).code == 0
    config = TrainConfig.load(folder / "config.toml")
    assert (config.hidden_size, config.weight_drop) == ([6, 8], 0.2)
    assert load(folder).output.W.shape[0] == 8
    resumed = deepnlp("train", "--out", folder, "--resume", "--epochs", "2", "--hidden-size", "6,8")
    assert resumed.code == 0


def test_a_model_that_is_counted(deepnlp, text_file, tmp_path):
    run = tmp_path / "run"
    done = deepnlp("train", "--task", "ngrams", "--order", 2, "--corpus", text_file, "--out", run)
    assert done.code == 0
    assert "KneserNey(order=2)" in done.out
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    row = next(line for line in done.out.splitlines() if line.startswith("model"))
    assert row.split()[2] == f"{result['perplexity']['test']:.2f}"
    assert {path.name for path in run.iterdir()} == {
        ".lock",
        "config.toml",
        "metrics.jsonl",
        "result.json",
    }
    assert deepnlp("train", "--resume", "--out", run).code == 0
    for wrong in (
        ("train", "--task", "ngrams", "--dry-run"),
        ("train", "--task", "ngrams", "--watch-gradients"),
        ("train", "--task", "ngrams", "--order", 0),
        ("train", "--task", "ngrams", "--lr", 1),
        ("evaluate", run),
        ("info", "--recipe", "ngrams"),
        ("info", "--recipe", "tagger", "--vocab-size", 5),
    ):
        done = deepnlp(*wrong)
        assert done.code == 2
        assert len(done.err.strip().splitlines()) == 1 or "--lr" in wrong


def test_help_names_every_option(deepnlp):
    shown = deepnlp("train", "--help-all").out
    for name in TrainConfig():
        option = "--" + name.replace("_", "-")
        assert re.search(rf"^  {option}\b", shown, re.MULTILINE), option
    often = deepnlp("train", "--help").out
    assert len(re.findall(r"^  --", often, re.MULTILINE)) < 30
    assert {"--lr ", "--help-all "} <= {*re.findall(r"^  (--[\w-]+ )", often, re.MULTILINE)}


def test_help_shows_the_defaults_of_the_recipe(deepnlp):
    shown = " ".join(deepnlp("train", "--help-all").out.split())
    assert "between layers (default 0.1)" in shown
    assert "rule of the update (default adam)" in shown
    shown = " ".join(deepnlp("train", "--recipe", "book-rnnlm", "--help-all").out.split())
    assert "rule of the update (default sgd)" in shown
    assert "learning rate at the start (default 20.0)" in shown


class Counting(Task):
    """A task with an option of its own, and no training."""

    def __init__(self, highest: Annotated[int, Option("where to stop", low=1)] = 10) -> None:
        self.highest = highest


def test_a_task_brings_its_options(deepnlp, monkeypatch, tmp_path):
    monkeypatch.setitem(TASKS, "counting", Counting)
    shown = deepnlp("train", "--task", "counting", "--help-all").out
    assert "--highest N" in shown
    assert "where to stop (default 10)" in shown
    assert "--epochs" in shown
    assert "--cell" not in shown
    done = deepnlp("train", "--task", "counting", "--cell", "gru")
    assert "unrecognized arguments: --cell gru; --cell is an option of --task lm or" in done.err
    assert "(see deepnlp train --help)" in done.err
    assert "did you mean --highest?" in deepnlp("train", "--task", "counting", "--higest=3").err
    recipe = tmp_path / "mine.toml"
    recipe.write_text('task = "counting"', encoding="utf-8")
    assert "--highest" in deepnlp("train", "--recipe", recipe, "--help-all").out
    (tmp_path / "config.toml").write_text('task = "counting"', encoding="utf-8")
    assert "--highest" in deepnlp("train", "--resume", "--out", tmp_path, "--help-all").out
    assert "--highest" not in deepnlp("train", "--help-all").out
    assert "invalid choice: 'chess'" in deepnlp("train", "--task", "chess").err


def test_the_default_is_the_recipe_default_on_the_built_in_corpus(deepnlp, monkeypatch):
    seen = []
    monkeypatch.setattr("deepnlp.training.plan", seen.append)
    with pytest.raises(TypeError):  # there is no plan to print
        deepnlp("train", "--dry-run")
    assert seen[0].corpus == "pydocs"


def test_a_recipe_and_what_overrides_it(deepnlp, text_file):
    done = deepnlp(
        "train",
        "--recipe",
        "book-rnnlm",
        "--corpus",
        text_file,
        "--dry-run",
        "--json",
        "--batch-size",
        4,
    )
    assert "embed_size=100" in done.json["model"]
    assert done.json["corpus"].startswith("cats.txt")


def test_dry_run_writes_nothing(deepnlp, text_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = deepnlp("train", "--corpus", text_file, "--out", "run", "--dry-run", *TINY)
    assert done.code == 0
    assert list(tmp_path.iterdir()) == []
    assert "layers.0.W" in done.out
    assert "MB" in done.out
    planned = deepnlp("train", "--corpus", text_file, "--dry-run", "--json", *TINY).json
    assert planned["parameters"] > 0
    assert planned["memory_mb"]


def test_without_out_a_new_folder_is_made(deepnlp, text_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = deepnlp("train", "--corpus", text_file, "--name", "mine", "--json", *TINY)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("mine-")
    assert (tmp_path / done.json["folder"]) == folder


def test_json_is_the_result_and_nothing_else(deepnlp, text_file, tmp_path):
    done = deepnlp("train", "--corpus", text_file, "--out", tmp_path / "run", "--json", *TINY)
    written = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert {key: done.json[key] for key in written} == written
    assert done.json["figure"] == str(tmp_path / "run" / "learning_curve.png")
    assert done.json["sample"]
    assert "layers.0.W" in done.err


def test_a_folder_that_holds_a_run_is_left_alone(deepnlp, text_file, run_folder):
    before = contents(run_folder)
    done = deepnlp("train", "--corpus", text_file, "--out", run_folder, *TINY)
    assert done.code == 2
    assert "already holds a run" in done.err
    assert contents(run_folder) == before


def test_overwrite_replaces_the_run_and_no_other_file(deepnlp, text_file, tmp_path):
    folder = tmp_path / "run"
    assert deepnlp("train", "--corpus", text_file, "--out", folder, *TINY).code == 0
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    again = [*TINY, "--seed", 7, "--overwrite"]
    assert deepnlp("train", "--corpus", text_file, "--out", folder, *again).code == 0
    assert TrainConfig.load(folder / "config.toml").seed == 7
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_finished_run_resumed_is_done(deepnlp, run_folder):
    before = contents(run_folder)
    done = deepnlp("train", "--out", run_folder, "--resume")
    assert done.code == 0
    assert "finished" in done.err
    assert contents(run_folder) == before


def test_resuming_with_more_epochs_equals_a_run_of_so_many(deepnlp, text_file, tmp_path):
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    deepnlp("train", "--corpus", text_file, "--out", parts, *TINY)
    assert deepnlp("train", "--out", parts, "--resume", "--epochs", 2).code == 0
    deepnlp("train", "--corpus", text_file, "--out", whole, *TINY, "--epochs", 2)
    assert (parts / "best.npz").read_bytes() == (whole / "best.npz").read_bytes()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--lr", 3], "lr = 3.0: it was begun with 0.01"),
        (["--hidden-size", 9], "hidden_size = 9"),
        (["--recipe", "book-rnnlm"], "it was begun with"),
        (["--epochs", 0], "epochs"),
    ],
)
def test_a_conflicting_option_at_resume_is_an_error(deepnlp, run_folder, options, text):
    before = contents(run_folder)
    done = deepnlp("train", "--out", run_folder, "--resume", *options)
    assert done.code == 2
    assert text in done.err
    assert contents(run_folder) == before


def test_options_that_agree_may_be_repeated_at_resume(deepnlp, run_folder):
    assert deepnlp("train", "--out", run_folder, "--resume", "--hidden-size", 8).code == 0


def test_ctrl_c_says_how_to_go_on(deepnlp, text_file, tmp_path, monkeypatch):
    step = Trainer.train_step

    def interrupted(self, *window):
        if self.state.step == 2:
            signal.raise_signal(signal.SIGINT)
        return step(self, *window)

    folder = tmp_path / "a run"
    monkeypatch.setattr(Trainer, "train_step", interrupted)
    stopped = deepnlp("train", "--corpus", text_file, "--out", folder, *TINY)
    assert stopped.code == 130
    last = stopped.err.splitlines()[-1]
    assert last == f"deepnlp: interrupted; go on with: deepnlp train --out '{folder}' --resume"

    monkeypatch.undo()
    assert deepnlp("train", "--out", folder, "--resume").code == 0
    whole = tmp_path / "whole"
    deepnlp("train", "--corpus", text_file, "--out", whole, *TINY)
    assert (folder / "best.npz").read_bytes() == (whole / "best.npz").read_bytes()


def test_info_after_a_killed_resume_shows_no_result_of_before(deepnlp, run_folder, tmp_path):
    """The result of one epoch does not stand beside the best weights of a later one."""
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert deepnlp("info", run, "--json").json["result"]["epochs"] == 1
    code = (
        "import sys, os; from deepnlp.training import Trainer; from deepnlp.cli.main import main\n"
        "draw = Trainer._draw\n"
        "def killing(self, folder):\n"
        "    os.kill(os.getpid(), 9) if self.state.epoch == 3 else draw(self, folder)\n"
        "Trainer._draw = killing\n"
        "main(['train', '--out', sys.argv[1], '--resume', '--epochs', '4'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, run], capture_output=True, check=False)
    assert done.returncode == -9
    assert deepnlp("info", run, "--json").json["result"] is None
    assert "finished after" not in deepnlp("info", run).out
    assert deepnlp("train", "--out", run, "--resume").code == 0
    assert deepnlp("info", run, "--json").json["result"]["epochs"] == 4


def test_an_edited_config_is_not_resumed(deepnlp, run_folder, tmp_path):
    """Every option that decides what is trained is compared with what the checkpoint knows."""
    config = (run_folder / "config.toml").read_text(encoding="utf-8")
    changes = {
        "seed": 1, "weight_decay": 0.1, "warmup_steps": 7, "lr": 0.3, "dropout": 0.45,
        "momentum": 0.1, "lr_factor": 0.3, "lr_floor": 0.2, "max_norm": 1.5, "batch_size": 3,
        "init": "book", "unigram_bias": "unigram_bias = true" not in config, "forget_bias": 3.0,
        "cell": "gru", "vary_time": True, "embed_bound": 0.7,
    }  # fmt: skip
    for name, value in changes.items():
        run = shutil.copytree(run_folder, tmp_path / name)
        text = json.dumps(value)
        edited = re.sub(rf"(?m)^{name} = .*$", f"{name} = {text}", config)
        edited = re.sub(r"(?m)^epochs = .*$", "epochs = 2", edited)
        assert f"\n{name} = {text}\n" in edited
        (run / "config.toml").write_text(edited, encoding="utf-8")
        before = contents(run)
        done = deepnlp("train", "--out", run, "--resume")
        assert (done.code, contents(run)) == (2, before), name
        assert done.err.count("\n") == 1
        assert "cannot resume with another" in done.err, done.err
