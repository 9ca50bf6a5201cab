"""The site's configuration; ``build.py`` gathers its sources and calls Sphinx with it."""

import inspect
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import deepnlp  # noqa: E402

# ---- The addresses: those of pyproject.toml, or what the workflow that publishes says --------
_known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["deepnlp"]["site"]
REPOSITORY = os.environ.get("DEEPNLP_REPOSITORY", _known["repository"]).rstrip("/")
ADDRESS = os.environ.get("DEEPNLP_SITE", _known["address"])

project = "deepnlp"
copyright = "the contributors of deepnlp"
version = release = deepnlp.__version__
language = "en"
locale_dirs = [str(Path(__file__).parent / "locale")]
gettext_compact = "site"  # one catalogue: sphinx-intl update -p build/site/gettext -l de

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "sphinxext.opengraph",
    "jupyterlite_sphinx",
]
if ADDRESS:
    extensions.append("sphinx_sitemap")
    html_baseurl = ADDRESS.rstrip("/") + "/"
    sitemap_url_scheme = "{link}"

root_doc = "index"
exclude_patterns = ["docs/site", "deepnlp", "chapters", "datasets", "tests", "benchmarks", "lite"]
exclude_patterns += ["notebooks/*.py", "notebooks/solutions", "**/.ipynb_checkpoints", "README.md"]
nb_execution_mode = "off"
highlight_language = "none"  # blocks that name no language are commands and outputs
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = {
    "http": None,
    "https": None,
    "mailto": None,
    # what Sphinx does not know: other pages of the site, lessons in JupyterLite, modules in the API
    "page": "{{path}}",
    "lesson": "{{path}}?path={{fragment}}",
    "module": "{{path}}#module-{{fragment}}",
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is taken, in words
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False
napoleon_use_ivar = True
# The words of types, such as shape, are looked up as names; two of a name are no fault.
suppress_warnings = ["mystnb.unknown_mime_type", "ref.python"]

html_theme = "furo"
html_title = "deepnlp"
html_static_path = [
    str(Path(__file__).parent / "static"),
    str(ROOT / "docs/images/learning_curve.png"),
]
_mathjax = ROOT / "build/page/mathjax.js"  # page_build.py puts it there; else it is the CDN's
if _mathjax.exists():
    html_static_path.append(str(_mathjax))
    mathjax_path = "mathjax.js"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {}
ogp_site_url = ADDRESS or "./"
ogp_image = "_static/learning_curve.png"
ogp_image_alt = "Perplexity falls over the epochs of the default run"
ogp_social_cards = {"enable": False}

jupyterlite_dir = str(ROOT / "build" / "site" / "lite")
jupyterlite_contents = [str(ROOT / "build" / "site" / "lite" / "files" / "*.ipynb")]
jupyterlite_bind_ipynb_suffix = False  # MyST-NB reads them
jupyterlite_silence = True

# ---- Links of the pages to files of the checkout ---------------------------------------------
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?:[\w.@-]+/)*[\w.@-]*/?)(#[^)\s\"\\]*)?\)")
_LONG = tomllib.loads((Path(__file__).parent / "lessons.toml").read_text("utf-8"))


def _is_page(path):
    pages = (".md", ".ipynb")
    here = path.startswith(("docs/", "notebooks/", "CHANGELOG", "CONTRIBUTING", "index"))
    return path.endswith(pages) and here


def _links(docname, text):
    """The text of a page, its links to the checkout turned into links of the site."""
    folder = dirname(docname)

    def turned(match):
        label, where, anchor = match[1], match[2], match[3] or ""
        path = normpath(join(folder, where))
        if not where or path.startswith("..") or not (ROOT / path).exists():
            return match[0]
        if path == "docs/site/page/index.html":
            return f"[{label}](page:{relpath('check/index.html', folder or '.')})"
        if path == "README.md":
            return f"[{label}]({relpath('index.md', folder or '.')}{anchor})"
        if path.endswith(".py") and path.startswith("deepnlp/") and not REPOSITORY:
            module = path.removesuffix(".py").replace("/", ".")
            package = module.rpartition(".")[0]
            page = relpath(f"api/{package}.html", folder or ".")
            return f"[{label}](module:{page}#{module.removesuffix('.__init__')})"
        if _is_page(path) or path.endswith((".png", ".svg", ".jsonl", ".json")):
            return match[0]
        if REPOSITORY:
            return f"[{label}]({REPOSITORY}/blob/main/{path}{anchor})"
        return label  # a file of the checkout, named but not linked

    return _LINK.sub(turned, text)


def _at_the_top(docname):
    """What stands above a lesson: where it runs in a browser, and what takes long there."""
    name = docname.removeprefix("notebooks/")
    lesson, up = name[:2], "../"
    long = _LONG.get(lesson, {})
    address = f"{up}lite/notebooks/index.html#{name}.ipynb"
    lines = [
        f"[Run this lesson in the browser](lesson:{address}), exercises included: nothing is "
        "installed, and what you write stays in your browser. Its experiments are in their short "
        "form there."
    ]
    lines += [f" {long['says']}"] if "says" in long else []
    return {
        "cell_type": "markdown",
        "id": "in-the-browser",
        "metadata": {},
        "source": ["".join(lines)],
    }


def _read(app, docname, content):
    if docname.startswith("notebooks/"):
        notebook = json.loads(content[0])
        first = notebook["cells"][0]
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = [_links(docname, "".join(cell["source"]))]
        place = 1 if first["cell_type"] == "markdown" else 0
        notebook["cells"].insert(place, _at_the_top(docname))
        content[0] = json.dumps(notebook)
    elif not docname.startswith("api/"):
        content[0] = _links(docname, content[0])


def linkcode_resolve(domain, info):
    """The address of the source of a name, where the repository is known."""
    if domain != "py" or not REPOSITORY or not info["module"]:
        return None
    module = sys.modules.get(info["module"])
    found = module
    for part in info["fullname"].split("."):
        found = getattr(found, part, None)
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(found))).relative_to(ROOT)
        return f"{REPOSITORY}/blob/main/{path.as_posix()}#L{inspect.getsourcelines(found)[1]}"
    except (TypeError, OSError, ValueError):  # no function or class
        return None


def _docstring(app, what, name, obj, options, lines):
    """Docstrings are read in terminals: what would be a mark of reST there stands for itself."""
    for k, line in enumerate(lines):
        if "``" not in line and "\\" not in line:
            line = re.sub(r"(?<=[( ])\*(?=\w+\.shape)", r"\\*", line)
            lines[k] = line.replace("|", r"\|") if line.count("|") % 2 == 0 else line


def _edit_link(app, pagename, templatename, context, doctree):
    """The address at which a page is edited, where the repository is known."""
    source = {"index": "docs/site/index.md"}.get(pagename, f"{pagename}.md")
    if pagename.startswith("notebooks/"):
        source = f"{pagename}.py"
    if REPOSITORY and (ROOT / source).exists():
        context["theme_source_edit_link"] = f"{REPOSITORY}/edit/main/{source}"


def setup(app):
    """Connect what is done to pages on their way."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring, priority=100)
    app.connect("html-page-context", _edit_link, priority=400)
    # jupyterlite-sphinx asks a font server for a font that no page uses.
    files = app.registry.css_files
    files[:] = [each for each in files if not each[0].startswith("https:")]
    return {"parallel_read_safe": True}
