"""What a theorem answers: a number made of named terms, or the condition that failed.

A theorem that does not apply has no number to give. Handing one out anyway (an infinity, or a
formula evaluated outside its hypotheses) would plot as if it meant something, so it is `None`.
"""

import math
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Bound:
    """An upper bound, or the reason why there is none.

    Attributes:
        value: the sum of the terms, or `None` where a condition of the theorem fails; `inf` only
            where the theorem holds and its number is too large for a float.
        terms: the pieces by name. Where the whole does not apply, the pieces that do.
        why: the failed conditions with their numbers; empty where the bound applies.
    """

    value: float | None
    terms: dict[str, float]
    why: str

    @classmethod
    def holds(cls, **terms: float) -> Self:
        """The sum of these terms.

        Args:
            **terms: numbers by name.

        Returns:
            The bound.
        """
        return cls(value=sum(terms.values()), terms=terms, why="")

    @classmethod
    def fails(cls, why: str) -> Self:
        """No number, for this reason.

        Args:
            why: the condition that failed.

        Returns:
            The bound that does not apply.
        """
        return cls(value=None, terms={}, why=why)

    @classmethod
    def total(cls, **parts: "Bound") -> Self:
        """The sum of several bounds; it applies where all of them do.

        Args:
            **parts: bounds by name.

        Returns:
            The bound, with a term for each part that applies.
        """
        terms = {name: float(part) for name, part in parts.items() if part.applies}
        # Two parts often fail for one reason: say it once.
        reasons = dict.fromkeys(part.why for part in parts.values() if not part.applies)
        if reasons:
            return cls(value=None, terms=terms, why="; ".join(reasons))
        return cls.holds(**terms)

    @property
    def applies(self) -> bool:
        """Whether every condition of the theorem is met."""
        return self.value is not None

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"the bound does not apply: {self.why}")
        return self.value


def exponential(exponent: float) -> float:
    """`exp`, infinite where it leaves the range of a float: a vast bound is not an error."""
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf
