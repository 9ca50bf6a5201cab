"""The addresses of the project, which stand in pyproject.toml, become part of the wheel."""

import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
SITE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["deepnlp"]["site"]
URLS = {"Repository": SITE["repository"], "Documentation": SITE["address"]}
README, PLACE = (ROOT / "README.md").read_text("utf-8"), "<address of this repository>"

setup(
    project_urls={name: address for name, address in URLS.items() if address},
    long_description=README.replace(PLACE, SITE["repository"] or PLACE),
    long_description_content_type="text/markdown",
)
