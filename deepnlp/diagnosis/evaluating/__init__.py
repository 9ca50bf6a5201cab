"""One evaluator runs everything: forwards that are followed, and changed forms of backwards.

``evaluator`` runs a learner's functions node by node of their syntax tree. For changed forms
``guard`` and ``allowed`` say what may be touched, and ``snapshot`` puts back what was changed;
``recording`` runs a forward as it stands, on arrays whose numbers carry tickets.
"""
