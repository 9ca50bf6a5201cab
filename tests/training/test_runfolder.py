import json
from pathlib import Path

import pytest

from deepnlp import DeepNLPError
from deepnlp.files.archives import write_npz
from deepnlp.files.writing import to_json
from deepnlp.training import Result, RunFolder


def folder_with_a_run(path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.write_config("epochs = 1\n")
    folder.write_metrics([{"epoch": 1}])
    folder.write_result({"status": "finished"})
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    return folder


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_a_run_is_not_written_over(tmp_path: Path) -> None:
    folder = folder_with_a_run(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(DeepNLPError, match="already holds a run"), folder.held():
        pass
    with pytest.raises(ValueError, match="choose one"), folder.held(resume=True, overwrite=True):
        pass
    assert contents(tmp_path) == before


def test_overwrite_keeps_the_run_until_the_next_has_a_checkpoint(tmp_path: Path) -> None:
    folder = folder_with_a_run(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "checkpoint.npz.tmp").write_bytes(b"half")
    (tmp_path / "checkpoint.npz.0a1b2c3d.tmp").write_bytes(b"half")
    with folder.held(overwrite=True), folder.held():
        assert contents(tmp_path) == {**before, ".lock": b""}
        folder.replace_run("epochs = 2\n", lambda path: write_npz(path, {}, {}))
    assert set(contents(tmp_path)) == {".lock", "config.toml", "checkpoint.npz", "notes.txt"}
    assert "epochs = 2" in folder.config.read_text(encoding="utf-8")


def test_resume_wants_a_run(tmp_path: Path) -> None:
    new = RunFolder(tmp_path / "quite" / "new")
    with pytest.raises(FileNotFoundError, match="no run to resume"), new.held(resume=True):
        pass
    assert not (tmp_path / "quite").exists()
    with folder_with_a_run(tmp_path).held(resume=True) as folder:
        assert folder.files() == ["config.toml", "metrics.jsonl", "result.json"]


def test_a_folder_in_which_nothing_was_written_is_removed(tmp_path: Path) -> None:
    new = RunFolder(tmp_path / "quite" / "new")
    with new.held():
        assert new.path.is_dir()
    assert not (tmp_path / "quite").exists()
    with new.held():
        (new.path / "notes.txt").write_text("mine", encoding="utf-8")
    assert set(contents(new.path)) == {"notes.txt"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match="is a file"), RunFolder(tmp_path / "file").held():
        pass


def test_a_new_folder_has_name_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = RunFolder.of(None, "pydocs"), RunFolder.of(None, "pydocs")
    assert first.path.parent == Path("runs")
    assert first.path.name.startswith("pydocs-")
    assert first.path != second.path


def test_metrics_of_a_killed_run_can_be_read(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_metrics([{"epoch": 1, "valid_perplexity": float("inf")}, {"epoch": 2}])
    with folder.metrics.open("a", encoding="utf-8") as file:
        file.write('{"epoch": 3, "valid')
    assert folder.read_metrics() == [{"epoch": 1, "valid_perplexity": None}, {"epoch": 2}]


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.result.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"result\.json is damaged"):
        Result.of(folder)


def test_json_is_strict() -> None:
    text = to_json({"a": [float("nan"), 1.0], "b": {"c": float("-inf")}})
    assert json.loads(text, parse_constant=pytest.fail) == {"a": [None, 1.0], "b": {"c": None}}
