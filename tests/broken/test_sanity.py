"""The third set by numbers of our own: each tenth layer is right, each tenth mistake is one."""

from tests.broken.sanity import faults


def test_a_tenth_of_the_third_set():
    assert faults("third", every=10) == []
