"""One line on the terminal that says how far a long run is."""

import math
import sys
import time
from typing import TextIO


class Progress:
    """A bar that rewrites its line on a terminal, and a line now and then in a log file."""

    def __init__(
        self, label: str, total: int, *, done: int = 0, stream: TextIO | None = None
    ) -> None:
        self.label, self.total = label, total
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._began, self._start, self._shown = time.monotonic(), done, -math.inf
        self._width = 0

    def update(self, done: int, **values: float) -> None:
        """Show that `done` of the total are finished, and the latest values by name."""
        now = time.monotonic()
        finished = done >= self.total
        if not finished and now - self._shown < (0.1 if self._live else 10.0):
            return
        self._shown = now
        line = self._line(done, now - self._began, values)
        if self._live:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        if self._live and self._width:
            self._stream.write("\n")
            self._stream.flush()

    def _line(self, done: int, elapsed: float, values: dict[str, float]) -> str:
        share = done / self.total if self.total else 1.0
        filled = int(20 * share)
        parts = [
            f"{self.label} {share:4.0%} {'█' * filled}{'·' * (20 - filled)} {done}/{self.total}"
        ]
        rate = (done - self._start) / elapsed if elapsed > 0 else 0.0
        if rate > 0:
            parts.append(f"{rate:.3g}/s")
            parts.append(f"{clock((self.total - done) / rate)} left")
        parts += [f"{name} {value:.3g}" for name, value in values.items() if value == value]
        return "  ".join(parts)


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def wanted(choice: bool | None) -> bool:
    """None means: only where someone is looking."""
    return sys.stderr.isatty() if choice is None else choice
