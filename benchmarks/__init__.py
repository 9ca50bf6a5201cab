"""The benchmarks: what they time, what they compare, and how they make the page on speed.

=================  ===============================================================================
``suites/``        what to time: the contestants of each suite, and its tables
``contestants/``   the work itself, one file per contestant; each runs in its own process
``harness``        starts the contestants in turn and gathers what they answer
``contestant``     the other end: one contestant, read from standard input
``records``        the times of all rounds, their medians, ratios and the goals
``machine``        what the numbers depend on: processor, memory, versions, commit
``results``        one JSON file a suite
``page``           the page on speed, from those files alone; ``figures`` draws for it
=================  ===============================================================================

PyTorch is imported in the files ``contestants/torch_*.py`` and nowhere else, and only when a
contestant runs.
"""
