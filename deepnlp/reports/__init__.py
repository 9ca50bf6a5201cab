"""Pages of a run, to look at: one HTML file each, without a server or a network.

``run`` writes what a run reached, ``inside`` what goes on in its model, and ``reporter`` the first
of these while a model trains.
"""
