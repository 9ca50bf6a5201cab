"""Tables of results: declared as data, run row by row, written as pages from committed logs.

A table is a TOML file in ``tables/``: its rows are recipes with options, its columns name figures
of ``result.json``. Each row and seed is a run folder. When it has finished, its ``config.toml``,
``metrics.jsonl`` and ``result.json`` are copied to ``docs/results/TABLE/ROW-SEED/``, and from these
alone the page ``docs/results/TABLE.md`` is written.
"""

from deepnlp.reproduce.logs import Logs, LogState
from deepnlp.reproduce.page import render, write_page
from deepnlp.reproduce.running import reproduce
from deepnlp.reproduce.table import Column, Job, Row, Table, load_table, table_names

__all__ = [
    "Column",
    "Job",
    "LogState",
    "Logs",
    "Row",
    "Table",
    "load_table",
    "render",
    "reproduce",
    "table_names",
    "write_page",
]
