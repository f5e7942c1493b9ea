"""One run in many processes: who decides, who writes, and how all learn of an error.

Under `jax.distributed` every process runs the same script, and a collective operation waits for all
of them. So nothing that a clock, a signal or a disk says may be decided by each for itself: at a
**meeting** every process reports, all see all reports, and that of process 0, the leader, counts.
An error that one process brings to a meeting is raised by all of them, as `ProcessError` with its
message by the others.

Outside of meetings an error ends the process that had it, and the others would wait for ever. So
where a mesh has several processes (`end_together`), an exception that nobody catches is told to all
through JAX's coordination service, and they end. A process that is killed tells nobody: on CPUs its
connections break, which `losing_touch` puts in words; elsewhere JAX's own heartbeat ends the
others.
"""

import atexit
import contextlib
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec

ROOM = 8192  # bytes of a report
LONGEST = 1000  # characters of a message
ASSEMBLY_SECONDS = 3600  # that processes may be apart at the beginning of a run
POLL = 0.5  # seconds between two looks for a last word
_LAST_WORD = "spos/last_word"
_BROKEN = ("Gloo", "Connection", "heartbeat", "UNAVAILABLE", "coordination service", "Broken pipe")


class ProcessError(RuntimeError):
    """Another process of the run failed or is lost; the message says what is known."""


@dataclass(frozen=True)
class Team:
    """The processes that a run is made by; one alone where its particles are in one process.

    Attributes:
        mesh: over which the particles are sharded; None on one device.
    """

    mesh: Mesh | None

    @property
    def several(self) -> bool:
        """Are there others?"""
        return self.mesh is not None and self.mesh.is_multi_process

    @property
    def leads(self) -> bool:
        """Is this the process that decides, prints and writes?"""
        return not self.several or jax.process_index() == 0

    def meet(self, error: Exception | None = None, **report: Any) -> list[dict[str, Any]]:
        """What every process reports, in their order. All must call it, at the same place.

        Raises:
            ProcessError: another process came with an error.
        """
        if not self.several:
            if error is not None:
                raise error
            return [report]
        told = None if error is None else f"{type(error).__name__}: {error}"[:LONGEST]
        with losing_touch():
            reports = _exchange({**report, "error": told})
        if error is not None:
            raise error
        for number, each in enumerate(reports):
            if each["error"] is not None:
                raise ProcessError(f"process {number} ended the run: {each['error']}")
        return reports

    def says_yes(self, function: Callable[..., Any], *given: Any) -> bool:
        """What the function says in process 0; all call it, since it may compute with them."""
        answer, error = False, None
        try:
            answer = bool(function(*given))
        except Exception as failed:
            error = failed
        return bool(self.meet(error, answer=answer)[0]["answer"])

    def agree(self, about: Callable[[], Mapping[str, Any]]) -> None:
        """All processes must find the same; `about` may look at this process alone.

        Raises:
            ValueError: they differ; it says in what.
        """
        error, found = None, dict[str, Any]()
        try:
            found = dict(about())
            self._must_be_whole()
        except Exception as failed:
            error = failed
        if self.several:
            with losing_touch():
                _assemble()
        reports = self.meet(error, found=found)
        for number, each in enumerate(reports):
            for name, first in reports[0]["found"].items():
                if (other := each["found"].get(name)) != first:
                    raise ValueError(
                        f"all processes must have the same {name}: process 0 has "
                        f"{str(first)[:200]}, process {number} has {str(other)[:200]}"
                    )

    def _must_be_whole(self) -> None:
        if self.several and self.mesh is not None:
            there = {device.process_index for device in self.mesh.devices.flat}
            if len(there) != jax.process_count():
                raise ValueError(
                    f"mesh must have devices of all {jax.process_count()} processes, or of one, "
                    f"got those of {sorted(there)}"
                )


def _assemble() -> None:
    """Wait until all processes are here, however long some of them compile or read before: Gloo,
    which connects them when they first send something, has half a minute of patience."""
    count = next(_assemblies)
    _client().wait_at_barrier(f"spos/assembly/{count}", ASSEMBLY_SECONDS * 1000)


_assemblies = itertools.count()


def _exchange(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = json.dumps(report).encode()
    if len(text) > ROOM:
        raise ValueError(f"a report must fit into {ROOM} bytes, got {len(text)}")
    mine = np.frombuffer(text.ljust(ROOM), np.uint8)
    return [json.loads(row.tobytes()) for row in multihost_utils.process_allgather(mine)]


@contextlib.contextmanager
def losing_touch() -> Iterator[None]:
    """Inside, a connection that breaks is a `ProcessError`."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if jax.process_count() == 1 or isinstance(error, ProcessError):
            raise
        if not any(sign in str(error) for sign in _BROKEN):
            raise
        if (word := _last_word(wait=2 * POLL)) is not None:
            raise ProcessError("process {} ended the run: {}".format(*word)) from error
        reason = str(error).splitlines()[0][:LONGEST]
        raise ProcessError(
            "another process of this run has ended or cannot be reached. Start all of them again; "
            f"with a checkpoint the run goes on from its last save. ({reason})"
        ) from error


@dataclass
class Signals:
    """What was heard of SIGINT and SIGTERM."""

    heard: bool = False


@contextlib.contextmanager
def signals(team: Team) -> Iterator[Signals]:
    """Inside, Ctrl-C is noted for the next meeting, and a second one ends the run at once.

    An exception out of nowhere could leave a chunk half recorded, or be lost where Python ignores
    exceptions. With several processes SIGTERM is noted too. A handler of the user's own stays.
    """
    noted = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    heeded = [signal.SIGINT] if usual else []
    if team.several:
        heeded = [signal.SIGINT, signal.SIGTERM]

    def note(number: int, frame: Any) -> None:
        if noted.heard and not team.several:
            raise KeyboardInterrupt
        noted.heard = True

    before = {number: signal.signal(number, note) for number in heeded}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def fetch(leaf: Any) -> np.ndarray:
    """All of an array in this process; where it is spread over several, all must call this."""
    if isinstance(leaf, jax.Array) and not _whole_here(leaf):
        with losing_touch():
            return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))
    return np.asarray(leaf)


def own_part(leaf: jax.Array, spec: PartitionSpec) -> np.ndarray:
    """What this process has of an array."""
    if _whole_here(leaf):
        return np.asarray(leaf)
    mesh = leaf.sharding.mesh  # type: ignore[attr-defined]  # what is sharded here has one
    return np.asarray(multihost_utils.global_array_to_host_local_array(leaf, mesh, spec))


def joined(part: np.ndarray, mesh: Mesh, spec: PartitionSpec) -> jax.Array:
    """Undo `own_part`: the array of which every process has a part."""
    return multihost_utils.host_local_array_to_global_array(part, mesh, spec)


def _whole_here(leaf: jax.Array) -> bool:
    return leaf.is_fully_addressable or leaf.is_fully_replicated


def end_together() -> None:
    """From now on, an exception that nobody catches in one process ends all of them."""
    if jax.process_count() > 1 and not _ending_together.is_set():
        _ending_together.set()
        before = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
            before(kind, error, at)
            if not isinstance(error, KeyboardInterrupt):
                _leave_word(f"{kind.__name__}: {error}")

        sys.excepthook = hook
        stop = threading.Event()
        threading.Thread(target=_listen, args=(stop,), daemon=True).start()
        atexit.register(stop.set)


_ending_together = threading.Event()


def _leave_word(message: str) -> None:
    word = json.dumps([jax.process_index(), message[:LONGEST]])
    with contextlib.suppress(Exception):  # whoever came first has said why
        _client().key_value_set(_LAST_WORD, word)
    if jax.process_index() == 0:
        time.sleep(4 * POLL)  # the service lives here: the others must hear the word first
    _end(1)


def _listen(stop: threading.Event) -> None:
    while not stop.wait(POLL):
        if (word := _last_word()) is not None and word[0] != jax.process_index():
            if stop.wait(2 * POLL):  # it may end by itself
                return
            print("process {} ended the run: {}".format(*word), file=sys.stderr)
            if jax.process_index() == 0:
                time.sleep(2 * POLL)
            _end(1)


def _last_word(wait: float = 0.0) -> tuple[int, str] | None:
    """Which process told all why it ends, and why; None if nobody does before so many seconds."""
    until = time.monotonic() + wait
    while True:
        with contextlib.suppress(Exception):  # nothing was said, or nobody listens
            number, message = json.loads(_client().key_value_try_get(_LAST_WORD))
            return number, message
        if time.monotonic() >= until:
            return None
        time.sleep(POLL / 5)


def _end(code: int) -> None:
    """Without JAX's farewell, which would wait minutes for processes that are gone."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _client() -> Any:
    from jax._src import distributed  # the service has no public name

    return distributed.global_state.client
