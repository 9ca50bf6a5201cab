"""What the quick forms stand for: shows which formulas have changed, and renews their digests.

python -m tests.kernels.formulas                      the changes since the digests were renewed
python -m tests.kernels.formulas --renew lstm_steps   after its quick forms were changed as well
"""

import argparse
import difflib
import dis
import types
from pathlib import Path

import deepnlp.models
import deepnlp.optimizers  # noqa: F401  every module that has a kernel
from deepnlp import kernels
from deepnlp.kernels import cuda, fast, formulas
from deepnlp.kernels.cuda import weights
from deepnlp.kernels.formulas import plain_form
from deepnlp.layers import multihead

TEXTS = Path(__file__).with_name("formulas.txt")
DIGESTS = Path(formulas.__file__).with_name("formulas.toml")
FOLLOWED = ("layers", "optimizers", "parameter", "backend.functions", "backend.random")
"""Rooms and files whose functions are formulas; the others' are the engine that runs them."""


def starts() -> dict[str, list[types.FunctionType]]:
    """The plain functions of each kernel that has a quick form: there and back."""
    functions: dict[str, list[types.FunctionType]] = {}
    for name, kernel in kernels._KERNELS.items():
        if name in {*fast.FORMS, *cuda.FORMS}:
            functions.setdefault(kernel.formula.name, []).append(kernel.plain)
    functions["attention_by_tiles"] = [multihead.attention.plain]
    for place, rule in weights.RULES.items():
        holder, name = formulas.lookup(place)
        functions[rule.kernel] = [plain_form(vars(holder)[name])]
    return functions


def place_of(function: types.FunctionType) -> str:
    return f"{function.__module__.partition('.')[2]}:{function.__qualname__}"


def is_formula(value: object) -> bool:
    if isinstance(value, types.FunctionType):
        place = place_of(value)
        return any(place.startswith((f"{room}.", f"{room}:")) for room in FOLLOWED)
    return isinstance(value, bool | int | float | str)


def reached(start: types.FunctionType) -> dict[str, object]:
    """All functions and numbers that a function computes with, by the places of their names."""
    places: dict[str, object] = {place_of(start): start}
    waiting = [start]
    while waiting:
        function = waiting.pop()
        holder: object = None
        for instruction in codes(function.__code__):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                holder, name = function.__globals__.get(instruction.argval), instruction.argval
                module = function.__module__
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                name = instruction.argval
                if not (isinstance(holder, types.ModuleType) and holder.__name__ != "numpy"):
                    continue
                module, holder = holder.__name__, getattr(holder, name, None)
            else:
                continue
            value, place = plain_form(holder), f"{module.partition('.')[2]}:{name}"
            if module.startswith("deepnlp.") and is_formula(value) and place not in places:
                places[place] = value
                waiting += [value] if isinstance(value, types.FunctionType) else []
    return places


def codes(code: types.CodeType) -> list[dis.Instruction]:
    inside = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*dis.get_instructions(code), *(i for c in inside for i in codes(c))]


def text_of(value: object) -> str:
    if isinstance(value, types.FunctionType):
        return str(formulas.text_of(value, value.__code__))
    return repr(value)


def present() -> dict[str, dict[str, str]]:
    """By kernel and place the text of what its plain form computes with."""
    return {
        name: {p: text_of(v) for f in functions for p, v in reached(f).items()}
        for name, functions in sorted(starts().items())
    }


def read() -> dict[str, dict[str, str]]:
    """The texts as they were when their digests were written."""
    texts: dict[str, dict[str, str]] = {}
    for part in TEXTS.read_text("utf-8").split("\n### ")[1:] if TEXTS.exists() else []:
        head, _, text = part.partition("\n")
        name, _, place = head.partition(" ")
        texts.setdefault(name, {})[place] = text.rstrip("\n")
    return texts


def write(texts: dict[str, dict[str, str]]) -> None:
    """Write texts and digests."""
    parts = [f"### {n} {p}\n{text}\n" for n, some in texts.items() for p, text in some.items()]
    head = "What the digests of deepnlp/kernels/formulas.toml are of; see formulas.py.\n\n"
    TEXTS.write_text(head + "\n".join(parts), "utf-8")
    lines = [
        "# The functions and numbers that the plain form of each kernel computes with; see",
        "# formulas.py. Renewed by: python -m tests.kernels.formulas --renew KERNEL",
    ]
    for name, some in texts.items():
        pairs = [f'"{place}" = "{formulas.hashed(text)}"' for place, text in some.items()]
        lines += ["", f"[{name}]", *pairs]
    DIGESTS.write_text("\n".join([*lines, ""]), "utf-8")


def differences() -> dict[str, str]:
    """What has changed, by kernel: its texts then and now."""
    before, now = read(), present()
    changes = {}
    for name in sorted({*before, *now}):
        pages = (
            [line for p, t in some.get(name, {}).items() for line in [f"# {p}", *t.split("\n")]]
            for some in (before, now)
        )
        diff = "\n".join(difflib.unified_diff(*pages, "then", "now", lineterm=""))
        changes |= {name: diff} if diff else {}
    return changes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", nargs="+", default=[], metavar="KERNEL")
    names = parser.parse_args().renew
    for name, diff in differences().items():
        print(f"{name}\n{diff}\n")
    if names:
        now, before = present(), read()
        write({n: now[n] if n in names else before[n] for n in now if n in {*names, *before}})


if __name__ == "__main__":
    main()
