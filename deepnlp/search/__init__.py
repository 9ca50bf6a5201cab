"""Hyper-parameter search with Optuna: declared as data, run by any number of processes.

A search is a TOML file in ``searches/``, or what the command line says. Its study is a folder with
Optuna's journal and a run folder for each trial; from the logs of these the page
``docs/results/search-NAME.md`` is written.
"""

from deepnlp.search.declaration import Search, load_search, search_names
from deepnlp.search.trials import Trial, best_of, read_trials, take

__all__ = ["Search", "Trial", "best_of", "load_search", "read_trials", "search_names", "take"]
