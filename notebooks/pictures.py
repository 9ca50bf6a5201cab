"""Figures in a third of their bytes: PNGs of at most 256 colours, which drawings do not exceed."""

from __future__ import annotations

import base64
import io
from typing import Any

PNG = "image/png"
COLOURS = 256


def shrink(notebook: Any) -> None:
    """Give every figure of a notebook a palette; one that has it, or is transparent, stays."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PNG in output.get("data", {}):
                png = base64.b64decode(output["data"][PNG])
                output["data"][PNG] = base64.b64encode(_with_a_palette(png)).decode()


def _with_a_palette(png: bytes) -> bytes:
    from PIL import Image  # comes with matplotlib

    image = Image.open(io.BytesIO(png))
    if image.mode not in ("RGB", "RGBA"):
        return png
    if image.mode == "RGBA" and image.getchannel("A").getextrema()[0] != 255:
        return png
    median_cut, no_dither = Image.Quantize.MEDIANCUT, Image.Dither.NONE
    colours = image.convert("RGB").quantize(COLOURS, median_cut, dither=no_dither)
    written = io.BytesIO()
    colours.save(written, "PNG", optimize=True)
    return min(png, written.getvalue(), key=len)
