"""Studies: many runs of one plan, written as pages from their committed logs.

A *table* of results is rows times seeds: recipes with options, beside what a source published. A
*search* is trials whose options are sampled. Either is a TOML file, in ``tables/`` or ``searches/``
(``table.py`` and ``search.py`` read it). Each run is a run folder under a lock, trained by a
process of its own (``running.py`` starts it, ``training.py`` is it). From the logs that runs leave
in ``docs/results/`` alone (``logs.py``) come the page (``page.py``, with the sentences of
``pages.toml``) and its figures (``figure.py``).
"""
