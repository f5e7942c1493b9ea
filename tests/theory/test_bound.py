import math

import pytest

from spos.theory import Bound
from spos.theory.bound import exponential


def test_a_bound_that_holds_is_the_sum_of_its_terms():
    bound = Bound.holds(near=1.5, far=2.0)
    assert bound.applies
    assert bound.value == 3.5
    assert bound.terms == {"near": 1.5, "far": 2.0}
    assert bound.why == ""
    assert float(bound) == 3.5


def test_a_bound_that_fails_has_no_number_and_says_why():
    bound = Bound.fails("rate = -1 must be positive")
    assert not bound.applies
    assert bound.value is None
    assert bound.terms == {}
    with pytest.raises(ValueError, match="does not apply: rate = -1 must be positive"):
        float(bound)


def test_a_total_adds_the_values_of_its_parts_under_their_names():
    total = Bound.total(first=Bound.holds(a=1.0, b=2.0), second=Bound.holds(c=4.0))
    assert total == Bound.holds(first=3.0, second=4.0)


def test_a_total_keeps_what_holds_and_says_each_reason_once():
    total = Bound.total(
        first=Bound.holds(a=1.0),
        second=Bound.fails("x"),
        third=Bound.fails("y"),
        fourth=Bound.fails("x"),
    )
    assert total.value is None
    assert total.terms == {"first": 1.0}
    assert total.why == "x; y"


def test_a_vast_exponential_is_infinite_and_not_an_error():
    assert exponential(1000.0) == math.inf
    assert exponential(0.0) == 1.0
