"""How long an automatic run may take, and what it has to reach, in words people have."""

from typing import NamedTuple

from spos import checks

EVALUATIONS = 10_000_000
ERROR = 0.025  # of a mean, in standard deviations, and of a log standard deviation
ROUNDS, MOST_ROUNDS = 20, 30  # by default, and where a budget or a precision is asked for


class Budget(NamedTuple):
    """Attributes:
    max_seconds: of wall time; None is without end.
    max_evaluations: of the log-density with its gradient; None is `EVALUATIONS`.
    target_error: the largest Monte-Carlo error that passes; None is `ERROR`.
    num_draws: how many are kept; None is as many as the last round has.
    """

    max_seconds: float | None = None
    max_evaluations: int | None = None
    target_error: float | None = None
    num_draws: int | None = None

    def checked(self) -> "Budget":
        """The same, or a complaint."""
        if self.max_seconds is not None:
            checks.positive("max_seconds", self.max_seconds)
        if self.max_evaluations is not None:
            checks.whole("max_evaluations", self.max_evaluations)
        if self.target_error is not None:
            checks.positive("target_error", self.target_error)
        if self.num_draws is not None:
            checks.whole("num_draws", self.num_draws)
        return self

    @property
    def evaluations(self) -> int:
        """The most there may be."""
        return EVALUATIONS if self.max_evaluations is None else self.max_evaluations

    @property
    def error(self) -> float:
        """The most there may be."""
        return ERROR if self.target_error is None else self.target_error

    @property
    def rounds(self) -> int:
        """The most there may be: whoever asks for more has said when to end."""
        usual = self._replace(max_seconds=None, num_draws=None) == Budget()
        return ROUNDS if usual else MOST_ROUNDS

    def records(self, num_particles: int) -> int:
        """The number of records of all particles that a round must have."""
        return -(-(self.num_draws or 1) // num_particles)

    def spent(self, seconds: float, evaluations: int) -> str:
        """Which budget does not allow so much? Empty if each of them does."""
        if self.max_seconds is not None and seconds > self.max_seconds:
            return f"max_seconds={self.max_seconds:g}"
        return f"max_evaluations={self.evaluations:,}" if evaluations > self.evaluations else ""


class Spent(Exception):
    """A budget is used up; the message says which."""
