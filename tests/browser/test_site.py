"""What the site's build does to pages and lessons before Sphinx sees them."""

import json
import re
import sys

import pytest

from tests.browser import lite
from tests.browser.tools import ROOT, of_site, served


@pytest.fixture(scope="module")
def conf():
    path = list(sys.path)
    yield of_site("conf")
    sys.path[:] = path


@pytest.fixture
def build(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    module = of_site("build")
    monkeypatch.setattr(module, "SITE", tmp_path)
    monkeypatch.setattr(module, "SOURCE", tmp_path / "source")
    return module


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        (
            "docs/design",
            "[a](../deepnlp/layers/lstm.py)",
            "[a](module:../api/deepnlp.layers.html#deepnlp.layers.lstm)",
        ),
        (
            "docs/guides/learn",
            "[a](../in-class.md#slides-and-figures)",
            "[a](../in-class.md#slides-and-figures)",
        ),
        ("docs/design", "[a](../README.md)", "[a](../index.md)"),
        ("docs/guides/learn", "[a](../../chapters/ch03_word2vec)", "a"),
        ("docs/guides/learn", "[a](../site/page/index.html)", "[a](page:../../check/index.html)"),
        ("index", "![a](docs/images/learning_curve.png)", "![a](docs/images/learning_curve.png)"),
        ("index", "[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("index", "[a](not/there.py)", "[a](not/there.py)"),
    ],
)
def test_links_to_the_checkout_become_links_of_the_site(conf, page, text, shown):
    assert conf._links(page, text) == shown


def test_files_are_linked_where_the_repository_is_known(conf, monkeypatch):
    monkeypatch.setattr(conf, "REPOSITORY", "https://example.org/deepnlp")
    linked = conf._links("docs/guides/learn", "[a](../../chapters/ch03_word2vec)")
    assert linked == "[a](https://example.org/deepnlp/blob/main/chapters/ch03_word2vec)"
    context = {}
    conf._edit_link(None, "notebooks/03_word2vec", "", context, None)
    address = "https://example.org/deepnlp/edit/main/notebooks/03_word2vec.py"
    assert context["theme_source_edit_link"] == address


def test_no_address_is_known_yet(conf):
    assert (conf.REPOSITORY, conf.ADDRESS) == ("", "")
    context = {}
    conf._edit_link(None, "docs/design", "", context, None)
    assert context == {}


def test_a_lesson_says_where_it_runs(conf):
    text = (ROOT / "notebooks" / "03_word2vec.ipynb").read_text("utf-8")
    content = [text]
    conf._read(None, "notebooks/03_word2vec", content)
    cells = json.loads(content[0])["cells"]
    assert "lite/notebooks/index.html#03_word2vec.ipynb" in cells[1]["source"][0]
    assert len(cells) == len(json.loads(text)["cells"]) + 1


def test_a_lesson_for_the_browser_begins_by_loading_the_package(build):
    note, load = build.in_the_browser({"says": "Cell 12 takes five minutes."})
    assert note["source"].endswith("Cell 12 takes five minutes.")
    assert load["source"] == f"%pip install -q deepnlp=={__import__('deepnlp').__version__}"


def test_every_module_is_in_the_api(build):
    build.write_api()
    text = "".join(path.read_text("utf-8") for path in (build.SOURCE / "api").glob("*.rst"))
    for path in (ROOT / "deepnlp").glob("layers/*.py"):
        name = f"deepnlp.layers.{path.stem}".removesuffix(".__init__")
        assert f".. automodule:: {name}\n" in text
    assert "deepnlp.cli" not in text


def test_the_page_is_in_the_sitemap_and_has_its_picture(build, tmp_path):
    (tmp_path / "check").mkdir()
    page = (ROOT / "docs" / "site" / "page" / "index.html").read_text("utf-8")
    (tmp_path / "check" / "index.html").write_text(page)
    (tmp_path / "sitemap.xml").write_text("<urlset><url><loc>a</loc></url></urlset>")
    build.address_of_page(tmp_path, "https://example.org/site/")
    address = "https://example.org/site/check/index.html"
    sitemap = (tmp_path / "sitemap.xml").read_text()
    assert sitemap.endswith(f"<url><loc>{address}</loc></url></urlset>")
    page = (tmp_path / "check" / "index.html").read_text()
    assert f'<meta property="og:url" content="{address}">' in page
    picture = 'property="og:image" content="https://example.org/site/_static/learning_curve.png"'
    assert picture in page


def test_links_that_lead_nowhere_are_found(build, tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="api/a.html#b">a</a> <a href="https://b.c">b</a> <a href="api/a.html#c">c</a>'
    )
    (tmp_path / "api" / "a.html").write_text(
        '<p id="b"><a href="../index.html?x=1"></a><img src="gone.png"><a href="#d"></a>'
    )
    found = ["api/a.html: #d", "api/a.html: gone.png", "index.html: api/a.html#c"]
    assert sorted(build.broken(tmp_path)) == found


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("https://example.org/a?b=c#d", ""),
        ("https://example.org/a_(b)", ""),
        ("mailto:a@example.org", ""),
        ("http://example.org", "should be https"),
        ("ftp://example.org", "should be https"),
        ("//example.org/a", "should be https"),
        ("https://example", "is not well formed"),
        ("https:///a", "is not well formed"),
        ("https://example.org/a.", "is not well formed"),
        ("https://exa mple.org", "is not well formed"),
        ("other.md", ""),
        ("other.md#a-b-of-c", ""),
        ("other.md#twice-1", ""),
        ("#here", ""),
        ("other.md#not-a-heading", "no such heading"),
        ("#there", "no such heading"),
        ("gone.md", "no such file"),
    ],
)
def test_the_form_of_a_link(link, wrong, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here\n")
    other = "# A `b` of *c*\n## Twice\n```\n# not a heading\n```\n## Twice\n"
    (tmp_path / "other.md").write_text(other)
    assert of_site("links").fault(link, page) == wrong


def test_all_links_are_well_formed():
    module = of_site("links")
    pages = [path for pattern in module.PAGES for path in ROOT.glob(pattern)]
    assert len(pages) > 50
    found = {
        f"{page.relative_to(ROOT)}: {link}": wrong
        for page in pages
        for link in module.links(page.read_text("utf-8"))
        if (wrong := module.fault(link, page))
    }
    assert found == {}


#: Who would be asked for a font.
FONTS = re.compile(
    r"fonts\.(googleapis|gstatic|bunny)|use\.typekit|@import\s+url\(\s*['\"]?https?:"
)


def test_no_page_asks_a_font_server():
    sources = [
        p
        for p in (ROOT / "docs" / "site").rglob("*")
        if p.suffix in (".css", ".html", ".js", ".py")
    ]
    sources += [
        ROOT / "deepnlp" / "reports" / "page.html",
        ROOT / "deepnlp" / "grading" / "class.html",
    ]
    built = ROOT / "build" / "site" / "html"
    sources += [
        p for p in built.rglob("*") if p.suffix in (".css", ".html") and "lite" not in p.parts
    ]
    assert len(sources) > 10
    assert [str(p) for p in sources if FONTS.search(p.read_text("utf-8", errors="replace"))] == []


def test_slides_take_nothing_from_elsewhere():
    made = (ROOT / "Makefile").read_text("utf-8")
    for trait in (
        "reveal_url_prefix",
        "mathjax_url",
        "require_js_url",
        "jquery_url",
        "font_awesome_url",
    ):
        assert f"--SlidesExporter.{trait}=node_modules/" in made
    assert "reveal_theme=white" in made  # those of other colours ask a font server


@pytest.mark.slow
def test_a_search_from_the_first_page_finds_a_lesson():
    html = ROOT / "build" / "site" / "html"
    if not (html / "searchindex.js").exists():
        pytest.skip("no site: make docs builds it")
    with served(html) as (address, _), lite.chromium() as browser:
        page = browser.new_context(service_workers="block").new_page()
        page.goto(address, wait_until="domcontentloaded")
        page.fill("input[name=q]", "clip gradients")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a", timeout=60_000)
        found = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
        assert any("06_gradients_and_gates" in link for link in found)
        assert page.goto(found[0]).ok
