"""``python -m benchmarks``: the same as ``deepnlp bench``."""

import sys

from deepnlp.cli.main import main

sys.exit(main(["bench", *sys.argv[1:]]))
