"""The addresses of the project stand in one place, and the wheel, README and site take them."""

import email
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77")
ROOT = Path(__file__).parents[1]
TABLE = "[tool.deepnlp.site]"
REPOSITORY, SITE = "https://example.org/some/deepnlp", "https://some.example.org/deepnlp"
BUILD = "from setuptools.build_meta import *; print(prepare_metadata_for_build_wheel('out'))"


def metadata_with(folder, repository, site):
    """What a wheel would say of itself, built without a network from a copy of what names it."""
    head, mark, rest = (ROOT / "pyproject.toml").read_text("utf-8").partition(TABLE)
    for name, address in {"repository": repository, "address": site}.items():
        rest = re.sub(rf'^{name} = ".*"$', f'{name} = "{address}"', rest, count=1, flags=re.M)
    (folder / "pyproject.toml").write_text(head + mark + rest, "utf-8")
    (folder / "out").mkdir()
    for name in ("setup.py", "README.md", "LICENSE", "LICENSE-PSF.txt", "deepnlp/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BUILD],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    (path,) = (folder / "out").glob("*.dist-info/METADATA")
    return email.message_from_string(path.read_text("utf-8"))


def test_the_wheel_and_its_readme_have_the_addresses(tmp_path):
    metadata = metadata_with(tmp_path, REPOSITORY, SITE)
    urls = [f"Repository, {REPOSITORY}", f"Documentation, {SITE}"]
    assert metadata.get_all("Project-URL") == urls
    assert f"git clone {REPOSITORY} deepnlp" in metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_one_address_alone(tmp_path):
    metadata = metadata_with(tmp_path, REPOSITORY, "")
    assert metadata.get_all("Project-URL") == [f"Repository, {REPOSITORY}"]


def test_without_addresses_there_are_none(tmp_path):
    metadata = metadata_with(tmp_path, "", "")
    assert "Project-URL" not in metadata
    assert metadata.get_payload().startswith("# deepnlp")


def test_readme_names_the_repository_or_says_that_it_has_to_be_named():
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = toml["tool"]["deepnlp"]["site"]["repository"] or "<address of this repository>"
    assert f"git clone {named} deepnlp" in (ROOT / "README.md").read_text("utf-8")


def test_the_size_of_the_wheel_is_that_of_its_page():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in (ROOT / "deepnlp").rglob("*.*"):
            if "__pycache__" not in file.parts:
                wheel.write(file)
    said = re.search(r"one file of (\S+) MB", (ROOT / "docs" / "in-class.md").read_text("utf-8"))
    assert len(packed.getvalue()) / 1e6 == pytest.approx(float(said[1]), rel=0.1)


def test_the_wheel_names_the_licences_of_what_it_holds(tmp_path):
    metadata = metadata_with(tmp_path, "", "")
    assert metadata.get_all("License-File") == ["LICENSE", "LICENSE-PSF.txt"]
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in (ROOT / "LICENSE-PSF.txt").read_text("utf-8")
