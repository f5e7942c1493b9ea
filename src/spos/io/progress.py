"""One line on the terminal that says how far a long run is.

Nobody's run ends because nobody looks any more: where the stream is closed, as that of a daemon, or
closes on the way, as a pipe does, nothing more is shown.
"""

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
        self._stream: TextIO | None = stream or sys.stderr
        self._live = _is_terminal(self._stream)
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
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._write(line + "\n")

    def close(self) -> None:
        if self._live and self._width:
            self._write("\n")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None

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
    return _is_terminal(sys.stderr) if choice is None else choice


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
