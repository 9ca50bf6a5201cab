"""``python -m deepnlp`` is the command ``deepnlp``."""

import sys

from deepnlp.cli.interrupted import end_when_interrupted


def main() -> int:
    """The command, guarded before anything that takes time is imported; gives the exit code."""
    end_when_interrupted()
    from deepnlp.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
