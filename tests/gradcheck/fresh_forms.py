"""A second measure of weak forms: python -m tests.gradcheck.fresh_forms."""

import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from tests.broken.collection import Broken, Family, Layer
from tests.broken.forms import Mistake, outcome_of_mistake, read

FRESH = Path(__file__).parent / "fresh_mistakes.toml"


def mistakes() -> list[Mistake]:
    """All of them, each in its part of the form."""
    found = []
    for row in tomllib.loads(FRESH.read_text("utf-8"))["mistake"]:
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        form, layer = values.pop("form"), values.pop("layer")
        part = next(one for one in read(form)[0] if one.name == layer)
        family = Family(f"{form} {layer}", Layer(layer, part.module, part.module), "")
        values["name"] = f"{form} {layer}: {values['name']}"
        found.append(Mistake(part, Broken(family=family, truth="", **values)))
    return found


def main() -> None:
    """Print the verdicts by form, and with an argument what was said in forms of that name."""
    counts: dict[str, Counter[str]] = {}
    for mistake in mistakes():
        name, is_located, said = outcome_of_mistake(mistake, 0)
        counts.setdefault(mistake.part.form, Counter()).update([name, *["located"] * is_located])
        if sys.argv[1:] and sys.argv[1] in mistake.case.name:
            print(mistake.case.name, name, is_located, said, sep="\n")
    for form, count in counts.items():
        print(f"{form:16}", dict(count))
    print(f"{'all':16}", dict(sum(counts.values(), Counter[str]())))


if __name__ == "__main__":
    main()
