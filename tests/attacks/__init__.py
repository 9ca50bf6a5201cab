"""Attacks on the command line and the library by odd options, files and values.

``python -m tests.attacks`` runs a fixed list and as many random cases as are asked for, each
command in a process of its own with a limit of time and memory, and prints what happened. A small
part of it is in the suite.
"""
