"""Values of JSON, checked against the types that classes declare."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from spos.io import schema
from spos.io.schema import SchemaError


class Pet(NamedTuple):
    name: str
    legs: int = 4


@dataclass(frozen=True)
class House:
    pets: Sequence[Pet]
    size: float
    colours: Mapping[str, str] = field(default_factory=dict)
    owner: Pet | None = None
    door: tuple[int, int] = (1, 2)
    steps: tuple[float, ...] = ()
    rest: Any = None

    def __post_init__(self):
        if self.size < 0:
            raise ValueError(f"size must not be negative, got {self.size}")


def test_a_value_becomes_its_class():
    given = {
        "pets": [{"name": "Rex"}, {"name": "Tom", "legs": 3}],
        "size": 2,
        "colours": {"roof": "red"},
        "owner": {"name": "Ann", "legs": 2},
        "door": [3, 4],
        "steps": [1, 2.5, "inf", "nan"],
        "rest": [{"any": "thing"}],
    }
    found = schema.read(House, given)
    assert found.pets == [Pet("Rex"), Pet("Tom", 3)]
    assert (found.size, type(found.size)) == (2.0, float)
    assert found.owner == Pet("Ann", 2)
    assert found.door == (3, 4)
    assert found.steps[:3] == (1.0, 2.5, math.inf)
    assert math.isnan(found.steps[3])
    assert found.rest == [{"any": "thing"}]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pets": None}, "it.pets must be a list, got None"),
        ({"pets": "Rex"}, "it.pets must be a list, got 'Rex'"),
        ({"pets": {"name": "Rex"}}, "it.pets must be a list, got an object of 1"),
        ({"pets": [3]}, "it.pets[0] must be an object, got 3"),
        ({"pets": [{"name": "Rex"}, {}]}, "it.pets[1] must have the field 'name'"),
        ({"pets": [{"name": 1}]}, "it.pets[0].name must be text, got 1"),
        ({"pets": [{"name": "Rex", "legs": True}]}, "legs must be a whole number, got True"),
        ({"pets": [{"name": "Rex", "legs": 4.0}]}, "legs must be a whole number, got 4.0"),
        ({"pets": [{"name": "Rex", "legs": 10**30}]}, "legs must be a whole number of 64 bits"),
        ({"pets": [{"name": "Rex", "tail": 1}]}, "it.pets[0] must not have the field 'tail'"),
        ({"size": "big"}, "it.size must be a number, got 'big'"),
        ({"size": False}, "it.size must be a number, got False"),
        ({"size": [1]}, "it.size must be a number, got a list of 1"),
        ({"size": 10**4000}, "it.size must be a number, got a long number"),
        ({"size": -1}, "it: size must not be negative, got -1.0"),
        ({"colours": {"roof": 3}}, "it.colours['roof'] must be text, got 3"),
        ({"colours": []}, "it.colours must be an object, got a list of 0"),
        ({"owner": 7}, "it.owner must be an object, got 7"),
        ({"door": [1]}, "it.door must have 2 entries, got 1"),
        ({"door": [1, "x"]}, "it.door[1] must be a whole number, got 'x'"),
        ({"strange\nname" * 20: 1}, "it must not have the field 'strange\\nname"),
        ({"size": "x" * 10**6}, "it.size must be a number, got 'xxx"),
    ],
)
def test_what_does_not_fit_says_where(changes, complaint):
    with pytest.raises(SchemaError) as caught:
        schema.read(House, {"pets": [], "size": 1.0, **changes})
    told = str(caught.value)
    assert complaint in told
    assert len(told) < 200
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("value", [None, [], 3, "x", True])
def test_only_an_object_is_a_record(value):
    with pytest.raises(SchemaError, match="it must be an object"):
        schema.read(House, value)


def test_only_records_have_fields():
    assert schema.fields(Pet) == {"name": str, "legs": int}
    assert list(schema.fields(House) or ()) == [*House.__dataclass_fields__]
    for kind in (int, list[int], Any, tuple, House | None):
        assert schema.fields(kind) is None
