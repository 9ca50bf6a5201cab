"""The newer exams by numbers of our own: each tenth layer is right, each tenth mistake is one."""

from hashlib import sha1

import pytest

from tests.broken.cases.right_many import COUNT, fault
from tests.broken.forms import FORMS, names, read
from tests.broken.forms import faults as faults_of_form
from tests.broken.sanity import faults


@pytest.mark.parametrize(("name", "every"), [("third", 10), ("fourth", 3)])
def test_a_part_of_the_newer_sets(name, every):
    assert faults(name, every, shapes=1) == []


# To import torch takes longer than all the others: python -m tests.broken.forms --sanity has it.
@pytest.mark.parametrize("form", [form for form in names() if form != "torchfunction"])
def test_a_tenth_of_each_form(form):
    assert faults_of_form(form, every=10) == []


def test_right_layers_in_odd_styles():
    assert [found for number in range(0, COUNT, 20) if (found := fault(number))] == []


def test_the_forms_are_as_they_were():
    texts = [path.read_bytes() for path in sorted(FORMS.glob("*.py"))]
    assert sha1(b"".join(texts)).hexdigest() == "6e5298f3773d9787577912c822d1058bce3132a0"
    numbers = [(len(parts), len(mistakes)) for parts, mistakes in map(read, names())]
    assert min(parts for parts, _ in numbers) >= 6
    assert min(mistakes for _, mistakes in numbers) >= 10
    assert sum(mistakes for _, mistakes in numbers) == 164
