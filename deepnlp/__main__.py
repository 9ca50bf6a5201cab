"""``python -m deepnlp`` is the command ``deepnlp``."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the current folder: what lies there is data, and no module to import


def main() -> int:
    """Run the command, guarded before any slow import, and return the exit code."""
    from deepnlp.cli.interrupted import end_when_interrupted

    end_when_interrupted()
    from deepnlp.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
