"""The command line: ``deepnlp COMMAND``, or ``python -m deepnlp COMMAND``; see ``main``."""
