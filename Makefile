# Every target makes its own environment in .venv; nothing else is needed but Python 3.11 or later.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: help train test rounding fuzz check format clean notebooks slides lessons bench docs

help:
	@echo "make train      train the default model on the documentation inside every Python"
	@echo "make notebooks  open JupyterLab on copies of the lessons, in lessons/"
	@echo "make slides     write the lessons as slides, in slides/ (LESSON=06 for one)"
	@echo "make lessons    run the lessons in full and keep their outputs (ARGS=01 for one)"
	@echo "make test       run the tests: every gradient, and everything else"
	@echo "make rounding   run the numerical tests with products that round as on another processor"
	@echo "make fuzz       try layers and parsers on many random cases (EXAMPLES=2000 of each)"
	@echo "make bench      time it against PyTorch, then write docs/maintaining/performance.md (ARGS=lm for one suite)"
	@echo "make docs       make the site of all pages, lessons and the API, in build/site/html"
	@echo "make check      ruff, format, types"
	@echo "make format     format the code"
	@echo "make clean      remove .venv and caches (runs/ stays)"

# One stamp an extra, renewed when pyproject.toml changes.
.venv/%.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "deepnlp needs Python 3.11 or later: make PYTHON=python3.11 ..."; rm -rf .venv; exit 2; }
	$(if $(filter notebooks,$*),@echo "installing JupyterLab into .venv takes a minute or two:")
	$(BIN)/python -m pip install $(if $(filter notebooks,$*),,--quiet) --editable '.$(if $(filter-out run,$*),[$*])'
	@touch $@

train: .venv/run.stamp
	$(BIN)/deepnlp train $(ARGS)

# Copies to work in, without sources and solutions; a copy that is there is kept. What they import
# from material/ is copied every time.
notebooks: .venv/notebooks.stamp
	@mkdir -p lessons
	@for lesson in notebooks/*.ipynb; do \
	  test -e lessons/$${lesson##*/} || cp $$lesson lessons/; done
	@cp -r notebooks/material lessons/
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/lessons $(ARGS)

# What slides show themselves with, from npm, beside them: then they need no network, nor a font server.
BESIDE := reveal.js@4.6.1 mathjax@2.7.9 requirejs@2.3.6 jquery@3.7.1 font-awesome@4.7.0
LOCAL := --SlidesExporter.reveal_url_prefix=node_modules/reveal.js \
  --SlidesExporter.reveal_theme=white \
  --SlidesExporter.mermaid_js_url=data:text/javascript, \
  --SlidesExporter.mathjax_url=node_modules/mathjax/MathJax.js?config=TeX-AMS_CHTML-full,Safe \
  --SlidesExporter.require_js_url=node_modules/requirejs/require.js \
  --SlidesExporter.jquery_url=node_modules/jquery/dist/jquery.min.js \
  --SlidesExporter.font_awesome_url=node_modules/font-awesome/css/font-awesome.css

slides: .venv/notebooks.stamp
	@mkdir -p slides
	@test -d slides/node_modules/reveal.js || npm install --prefix slides --silent --no-save $(BESIDE) \
	  || echo "npm gave no reveal.js: these slides need a network when they are shown"
	$(BIN)/jupyter nbconvert --to slides --output-dir slides \
	  $$(test -d slides/node_modules/reveal.js && echo '$(LOCAL)') notebooks/$(LESSON)*.ipynb

lessons: .venv/notebooks.stamp
	$(BIN)/python -m notebooks.build $(ARGS)

# The compiled forms of the tests and of the package are kept, whatever the environment says.
test: .venv/test.stamp
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

NUMERICAL := tests/layers tests/kernels tests/optimizers tests/models tests/parity

rounding: .venv/test.stamp
	$(BIN)/python -m tests.rounding -m pytest --numprocesses auto $(NUMERICAL) $(ARGS)

# The tests that draw their cases: other ones every time, and as many of each as EXAMPLES says.
fuzz: .venv/test.stamp
	DEEPNLP_FUZZ=$(or $(EXAMPLES),2000) $(BIN)/python -m pytest -m hypothesis --numprocesses auto $(ARGS)

# The suites set their own number of threads: by default as many as there are cores.
bench: .venv/bench.stamp
	$(BIN)/deepnlp bench $(ARGS)
	$(BIN)/deepnlp bench --page docs/maintaining/performance.md

# Sphinx makes it, npm the editor of one page (without npm it has a plain one).
docs: .venv/docs.stamp
	$(BIN)/python docs/site/build.py --strict $(ARGS)

check: .venv/test.stamp .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache
