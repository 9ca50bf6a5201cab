"""The manifest: every file that a loader reads, and nothing that a downloader should not do."""

import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest

from deepnlp.datasets import ANALOGIES, CORPORA, PAIRS, SIMILARITY, TAGGED, fetch, manifest
from deepnlp.datasets.files import SOURCES, find_file
from deepnlp.datasets.manifest import data_set, set_with
from deepnlp.datasets.transfer import is_secure
from tests.datasets.conditions import needs

SETS = manifest.manifest()
DOWNLOADS = [download for one in SETS.values() for download in one.downloads]
FILES = [file for one in SETS.values() for file in one.files]
ROOT = Path(__file__).parents[2]


def test_every_file_that_a_loader_reads_can_be_fetched_by_a_name():
    by_name = {
        name: [file for files in source.get("files", {}).values() for file in files]
        for sources in SOURCES.values()
        for name, source in sources.items()
    }
    assert {*by_name} >= {*CORPORA, *PAIRS, *TAGGED, *SIMILARITY, *ANALOGIES} - {
        "pydocs", "dates", "addition", "tatoeba-en"
    }  # fmt: skip
    for name, files in by_name.items():
        for file in files:
            known = set_with(file)
            assert known is not None, file
            assert known.name == (name if name in SETS else "multi30k")


def test_files_have_a_checksum_and_a_place_of_their_own():
    paths = [file.path for file in FILES]
    assert len(paths) == len(set(paths)) == 43
    for file in FILES:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert len(path.parts) == 2
        assert not any(part.startswith(".") for part in path.parts)
        assert file.bytes > 0
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_addresses_are_https_and_of_a_form_that_can_be_unpacked():
    for download in DOWNLOADS:
        assert all(map(is_secure, download.addresses))
        forms = {address.endswith(".zip") for address in download.addresses}
        assert len(forms) <= 1
        assert all((file.member is not None) == (forms == {True}) for file in download.files)
        assert len(download.files) == 1 or forms == {True}
        assert not any(re.search(r"\.(tar|tgz|bz2|xz|7z)", each) for each in download.addresses)
        assert (download.sha256 is None) == (download.bytes is None)
        if download.sha256 is not None:
            assert re.fullmatch("[0-9a-f]{64}", download.sha256)
    assert sum(not download.addresses for download in DOWNLOADS) == 1  # glove-9k


def test_every_set_says_what_it_is_and_its_terms():
    for one in SETS.values():
        assert min(map(len, (one.title, one.licence, one.cite))) > 2
        assert len(f"{one.licence}{one.title}") < 90  # a line of `deepnlp data list`


def test_the_manifest_is_part_of_the_package():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "datasets/*.toml" in stated["tool"]["setuptools"]["package-data"]["deepnlp"]


def test_the_documents_state_no_other_sums():
    for page in ("datasets/README.md", "README.md", "docs/guides/train-on-my-text.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        stated = {file.sha256 for file in FILES}
        assert set(re.findall(r"\b[0-9a-f]{64}\b", text)) <= stated


def test_the_guide_shows_an_address_of_the_manifest():
    text = (ROOT / "docs" / "guides" / "train-on-my-text.md").read_text(encoding="utf-8")
    assert f"<{SETS['ptb'].downloads[0].addresses[0]}>" in text


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"unknown data set 'wikitext': did you mean wikitext-2\?"):
        data_set("wikitext")
    with pytest.raises(ValueError, match=r"unknown data set '': `deepnlp data list`"):
        fetch("")
    with pytest.raises(ValueError, match="there is nothing to fetch"):
        fetch("pydocs")


def test_a_missing_file_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPNLP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as error:
        find_file(tmp_path, "ptb/ptb.train.txt")
    assert "`deepnlp data fetch ptb` fetches it" in str(error.value)
    with pytest.raises(FileNotFoundError) as error:
        find_file(tmp_path / "my data", "multi30k/val.de")
    assert f"`deepnlp data fetch multi30k --to '{tmp_path}/my data'`" in str(error.value)
    with pytest.raises(FileNotFoundError, match="put it there"):
        find_file(tmp_path, "mine/other.txt")


@needs("ptb/ptb.train.txt")
def test_a_data_folder_is_a_mirror(tmp_path, monkeypatch):
    """Served as it is, with files packed here that are not packed where they are published."""
    import functools
    import os
    import threading
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=os.environ["DEEPNLP_DATA"])
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        mirror = f"http://127.0.0.1:{server.server_port}"
        for name in ("ptb", "multi30k", "tatoeba-en-es", "glove-9k"):
            found = fetch(name, tmp_path, mirrors=[mirror])
            assert all(address.startswith(mirror) for address in found.values())
        server.shutdown()
        thread.join()
    for file in (*SETS["ptb"].files, *SETS["multi30k"].files):
        assert (tmp_path / file.path).stat().st_size == file.bytes
