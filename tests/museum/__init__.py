"""Layers with one mistake each. Try to find it before you look at the answer."""
