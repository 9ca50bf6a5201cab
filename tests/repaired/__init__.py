"""Broken layers against which the search over edits was developed."""
