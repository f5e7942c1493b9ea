"""What was checked about a run, whether it passed, and what to do if not, as text."""

import textwrap
from dataclasses import dataclass

from spos.plots import rich


@dataclass(frozen=True)
class Check:
    """One measured number against the most (or least) that is allowed.

    Attributes:
        name: what was checked.
        value: what was found.
        limit: what is allowed.
        passed: whether it is.
        finding: the same in words.
        advice: what to do if not.
    """

    name: str
    value: float
    limit: float
    passed: bool
    finding: str
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """All checks of a run.

    Attributes:
        checks: in the order they were made.
        notes: what else a reader should know.
        interrupted: whether the run was ended, by a person, a callback or a budget.

    Example:
        >>> from spos.auto.verdict import Check, Verdict
        >>> Verdict((Check("mixing", 0.2, 0.05, False, "20% lies between particles"),)).reasons
        ['mixing: 20% lies between particles']
    """

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def converged(self) -> bool:
        """Were there checks, and did all pass?"""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def reasons(self) -> list[str]:
        """Why not to trust the run; empty if it may be trusted."""
        if self.converged:
            return []
        failed = [f"{check.name}: {check.finding}" for check in self.checks if not check.passed]
        return [self._interrupted] * self.interrupted + failed

    @property
    def _interrupted(self) -> str:
        return "interrupted" if self.checks else "interrupted before the checks"

    def __str__(self) -> str:
        head = "Converged." if self.converged else "NOT converged: do not trust these draws."
        lines = [head, ""]
        for check in self.checks:
            lines.append(f"  {'ok  ' if check.passed else 'FAIL'} {check.name}: {check.finding}")
            if check.advice and not check.passed:
                lines.append(textwrap.indent(textwrap.fill(check.advice, 84), " " * 9))
        if self.interrupted and not self.converged:
            lines.append(f"  FAIL {self._interrupted}")
        lines += ["", *(f"  note: {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [check.name, "ok" if check.passed else "FAILED", check.finding] for check in self.checks
        ]
        head = "Converged." if self.converged else "NOT converged: do not trust these draws."
        return rich.block_html([rich.Text(head), rich.cut(["check", "", "found"], rows, "")])
