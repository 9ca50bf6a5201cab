"""Is each layer of a set right, and each mistake one? python -m tests.broken.sanity third [K]."""

import sys

import numpy as np

from tests.broken.collection import Family, example, make, read
from tests.broken.numeric import errors

RIGHT, WRONG = 1e-6, 1e-4


def faults_of_family(family: Family) -> list[str]:
    """What is wrong with a right layer; nothing if it is right."""
    arguments, inputs = family.build(np.random.default_rng([11, 0]))
    found = errors(make(family.layer, arguments), tuple(inputs))
    if not found:
        return [f"{family.name}: nothing to check"]
    return [f"{family.name}: {name} is off by {e:.2g}" for name, e in found.items() if e > RIGHT]


def faults(name: str, every: int = 1, shapes: int = 3) -> list[str]:
    """Right layers that are wrong, and mistakes that make no difference."""
    collection = read(name)
    found = [fault for family in collection.right[::every] for fault in faults_of_family(family)]
    for case in collection.cases[::every]:
        for shape in range(shapes):
            try:
                layer, inputs = example(case, [11, shape])
                found_errors = errors(layer, tuple(inputs))
            except Exception as error:  # what a learner's broken code raises is not known
                found.append(f"{case.name}: raises {type(error).__name__}: {error}")
                break
            if max(found_errors.values(), default=0) < WRONG:
                found.append(f"{case.name}: makes no difference in shape {shape}")
    return found


if __name__ == "__main__":
    for fault in faults(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(fault)
    print(len(read(sys.argv[1]).families), "families", len(read(sys.argv[1]).cases), "mistakes")
