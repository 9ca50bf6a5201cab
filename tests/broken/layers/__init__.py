"""Layers as students write them, each with a right backward; the cases break one line."""
