"""Studies: many runs of one plan, written as pages from their committed logs.

A *table* of results is rows times seeds: recipes with options, beside what a source published. A
*search* is trials whose options are sampled. Either is a TOML file, in ``tables/`` or ``searches/``
(``declaration.py`` reads it), each of its runs is a run folder under a lock, trained by a process
of its own (``running.py`` starts it, ``training.py`` is it), and from the logs that finished runs
leave in ``docs/results/`` alone come the page (``page.py``) and its figures (``figure.py``).
"""
