"""The work of the contestants: each file has ``run(spec)``, which returns numbers by row and name.

A contestant runs alone in its process (:mod:`benchmarks.contestant`). All of them do
the same work on the same sizes: random ids and weights, because the time of a step does not
depend on what was learned.
"""
