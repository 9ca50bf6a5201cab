"""x."""


def check_run(target): ...
