"""List the external links of all pages, and check the form of all links: ``links.py``.

Nothing is fetched (``make docs ARGS=--links`` asks the network). An external link should be https
and well formed; a link to a file of the checkout should find it, and the heading that it names. The
exit code is 1 if one does not.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ("*.md", "docs/**/*.md", "docs/site/page/*.html", "chapters/**/*.md", "notebooks/*.py")
LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:href|src)=\"([^\"]+)\"|<(https?://[^>\s]+)>")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HOST = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", re.IGNORECASE)


def links(text: str) -> list[str]:
    """What a page links to, in its order.

    >>> links("[a](b.md#c) and <https://d.org>, not `[e](f)`")
    ['b.md#c', 'https://d.org']
    """
    return ["".join(found) for found in LINK.findall(CODE.sub("", text))]


def anchors(text: str) -> set[str]:
    r"""The names that GitHub gives to the headings of a Markdown page.

    >>> sorted(anchors("# What `deepnlp` is\n## Once\n## Once\n"))
    ['once', 'once-1', 'what-deepnlp-is']
    """
    found: set[str] = set()
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.MULTILINE):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        copies = sum(
            re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in found
        )
        found.add(f"{name}-{copies}" if copies else name)
    return found


def fault(link: str, page: Path) -> str:
    """What is wrong with a link of a page; empty if nothing is."""
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto"):
        return ""
    if parts.scheme or link.startswith("//"):
        if parts.scheme != "https":
            return "should be https"
        whole = HOST.fullmatch(parts.hostname or "") and not re.search(
            r"[\s<>\"\\^`{|}]|[.,;]$", link
        )
        return "" if whole else "is not well formed"
    target = page.parent / unquote(parts.path) if parts.path else page
    if page.parent.is_relative_to(HERE):  # its place on the site is another; build.py checks it
        return ""
    if not target.exists():
        return "no such file"
    named = target.suffix == ".md" and parts.fragment
    if named and unquote(parts.fragment) not in anchors(target.read_text("utf-8")):
        return "no such heading"
    return ""


def main() -> None:
    """Check all pages from the command line."""
    external: dict[str, str] = {}
    faults, count = [], 0
    for page in sorted({path for pattern in PAGES for path in ROOT.glob(pattern)}):
        name = page.relative_to(ROOT).as_posix()
        for link in links(page.read_text("utf-8")):
            count += 1
            if urlsplit(link).scheme.startswith("http"):
                external.setdefault(link, name)
            if wrong := fault(link, page):
                faults.append(f"{name}: {link}: {wrong}")
    for link, name in sorted(external.items()):
        print(f"{link}  ({name})")
    print(f"{count} links, {len(external)} of them external, {len(faults)} faults")
    print(*faults, sep="\n", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
