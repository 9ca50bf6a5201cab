"""Broken layers that no hypothesis was written for: how far the diagnosis carries."""
