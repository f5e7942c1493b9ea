"""What was checked about a run, whether it passed, and what to do if not, as text."""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One measured number against the most (or least) that is allowed."""

    name: str
    value: float
    limit: float
    passed: bool
    finding: str  # in words
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """All checks of a run. `notes` say what else a reader should know."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def converged(self) -> bool:
        return bool(self.checks) and not self.reasons

    @property
    def reasons(self) -> list[str]:
        """Why not to trust the run; empty if it may be trusted."""
        failed = [f"{check.name}: {check.finding}" for check in self.checks if not check.passed]
        return ["interrupted before the checks"] * self.interrupted + failed

    def __str__(self) -> str:
        head = "Converged." if self.converged else "NOT converged: do not trust these draws."
        lines = [head, ""]
        for check in self.checks:
            lines.append(f"  {'ok  ' if check.passed else 'FAIL'} {check.name}: {check.finding}")
            if check.advice and not check.passed:
                lines.append(textwrap.indent(textwrap.fill(check.advice, 84), " " * 9))
        if self.interrupted:
            lines.append("  FAIL interrupted before the checks")
        lines += ["", *(f"  note: {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Verdict":
        checks = tuple(Check(**check) for check in stored["checks"])
        return cls(checks, tuple(stored["notes"]), stored["interrupted"])


NOTHING_CHECKED = Verdict(())
