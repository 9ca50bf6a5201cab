"""``python -m deepnlp`` is the command ``deepnlp``."""

import sys

from deepnlp.cli import main

if __name__ == "__main__":
    sys.exit(main())
