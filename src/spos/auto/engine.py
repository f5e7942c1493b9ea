"""The move, and a compiled chunk of moves.

In coordinates θ = c + L z, with g = Lᵀ ∇ log p, every particle follows its score, f = g. With ξ
standard normal and a step e,

    p = ξ;   then n times:   p += e/2 f(z),   z += e p,   p += e/2 f(z)       a leapfrog
    accept with probability min(1, exp[ log p(z') - log p(z) - |p'|²/2 + |ξ|²/2 ])

where f is shortened so that a single push e²|f|/2 is at most √d. One leapfrog is the SGLD step
z + h f + √(2h) ξ, h = e²/2, with a Metropolis test. A leapfrog keeps volume and can be reversed
whatever field of the position drives it, so that p is exactly invariant: no error of the step.

With a kernel the particles stand in two halves A and B. One half moves while the other stands
still, then they change places, and a particle of A is driven by

    f(z) = g(z) + β/|B| Σ_{j∈B} [ k(z, z_j) g_j + ∇_j k(z, z_j) ]            the drift of SPOS,

which depends on the half that stands still and on the particle alone. So p × … × p is exactly
invariant: no error of a finite number of particles either. (A field made from the moving half
itself would not do: see the tests.)

The step e varies from move to move, and may fit the place (`spos.auto.jitter`): then the test has
one factor more.

A **jump** is a leapfrog of one step without force, whose momentum carries the particle by the
difference of two rows of an *archive*, where particles stood before the round began. That is
symmetric, hence exact too, and it crosses between modes that the archive knows.

Compiling takes longer than all moves of an easy model. So there is one program for everything, in
which the log-density stands once, and random numbers come from the host, since a generator would be
the larger part of it. To look at a density is a move of no length. Only a long run has it compiled
a second time, with all that XLA can do (`spos.auto.moving`).
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.auto import jitter
from spos.auto.bend import Bend, Bent, bent, straight_scores
from spos.auto.chance import RandomNumbers
from spos.auto.tails import unstretched
from spos.cloud import squared_distances
from spos.mesh import shards
from spos.programs import by_form, compiled
from spos.targets.target import Target
from spos.types import Array, Number, Particles
from spos.values import Value, static, value

MOVES = 25  # of a chunk, at most
LONGEST_STEP = 1.9  # a leapfrog on a standard normal is unstable from 2 on
SHORTEST_STEP = 1e-6  # of what single precision can tell apart


class Whitened(NamedTuple):
    """Particles in whitened coordinates, the log-density there, and its gradient."""

    z: Array
    log_prob: Array
    score: Array


class Coordinates(NamedTuple):
    """θ = centre + factor z; these are the straight coordinates of θ if it is bent."""

    centre: Any
    factor: Any
    bend: Bend | None = None
    is_bent: Any = False  # else the bend is not looked at, which is half of an easy model's work


class Tuning(NamedTuple):
    """How a chunk moves; all of it may change without compiling anew."""

    log_step: Any  # one a particle
    rate: Any = 0.0  # at which log_step follows the acceptance; 0 is frozen, and then exact
    pooled: Any = True  # one step for all, or each its own
    leaps: Any = 1
    local: Any = False  # a step that fits the place
    jumps: Any = False  # also propose differences of two rows of the archive


def plan(log_step: Any, dtype: Any, **options: Any) -> Tuning:
    """A tuning whose numbers have one type each, so that one program serves them all."""
    given = Tuning(log_step, **options)
    types = dtype, dtype, bool, np.int32, bool, bool
    return Tuning(*(np.asarray(x, kind) for x, kind in zip(given, types, strict=True)))


class Records(NamedTuple):
    """What moves leave behind, with a leading axis of moves."""

    z: Array
    log_prob: Array
    score: Array
    acceptance: Array


@value
class Problem(Value):
    """A target as a function of flat vectors. Problems of one structure share a compiled program.

    `beta` is what the Stein field counts beside the score; None leaves it out.
    """

    target: Target
    beta: Number | None
    structure: Any = static()
    shapes: tuple[tuple[int, ...], ...] = static()
    dtypes: tuple[Any, ...] = static()
    accept: float = static(default=0.8)

    @classmethod
    def of(cls, target: Target, particles: Particles, beta: Number | None) -> "Problem":
        """The problem of these particles, of which only the form counts."""
        leaves, structure = jax.tree.flatten(particles)
        shapes = tuple(tuple(leaf.shape[1:]) for leaf in leaves)
        return cls(target, beta, structure, shapes, tuple(leaf.dtype for leaf in leaves))

    @property
    def dtype(self) -> Any:
        """The type of a particle's numbers when they stand in one row."""
        return jnp.result_type(*self.dtypes)

    def unflatten(self, rows: Any) -> Particles:
        """Rows of numbers, with any leading axes, as particles."""
        sizes = [math.prod(shape) for shape in self.shapes]
        ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
        parts = [
            rows[..., end - size : end].reshape(*rows.shape[:-1], *shape).astype(dtype)
            for size, end, shape, dtype in zip(sizes, ends, self.shapes, self.dtypes, strict=True)
        ]
        return jax.tree.unflatten(self.structure, parts)

    def evaluate(self, frame: Coordinates, z: jax.Array) -> Whitened:
        """Where anything is not a number, the density is nothing."""
        target = self.target
        batch = target.draw(jax.random.key(0), jnp.zeros((), jnp.int32))

        def log_prob(theta: jax.Array) -> jax.Array:
            return jnp.asarray(target.log_prob(self.unflatten(theta), batch), self.dtype)

        straight = frame.centre + z @ frame.factor.T
        way = _unbent(None, straight)
        if frame.bend is not None:
            way = jax.lax.cond(frame.is_bent, bent, _unbent, frame.bend, straight)
        values, scores = jax.vmap(jax.value_and_grad(log_prob))(way.theta)
        if frame.bend is not None:
            given = frame.bend, scores, way.u, way.tilt, way.long
            scores = jax.lax.cond(frame.is_bent, straight_scores, lambda *given: given[1], *given)
        values, g = values + way.log_det, scores @ frame.factor
        good = jnp.isfinite(values) & jnp.isfinite(g).all(1) & jnp.isfinite(z).all(1)
        return Whitened(z, jnp.where(good, values, -jnp.inf), jnp.where(good[:, None], g, 0.0))


@by_form
def numbers(problem: Problem) -> int:
    """About how many numbers the log-density of a particle computes on its way."""

    def log_prob(problem: Problem, theta: jax.Array) -> Any:
        batch = problem.target.draw(jax.random.key(0), jnp.zeros((), jnp.int32))
        return problem.target.log_prob(problem.unflatten(theta), batch)

    size = sum(math.prod(shape) for shape in problem.shapes)
    traced = jax.make_jaxpr(log_prob)(problem, jax.ShapeDtypeStruct((size,), problem.dtype))
    return sum(math.prod(out.aval.shape) for each in traced.eqns for out in each.outvars)


def _unbent(bend: Bend | None, straight: jax.Array) -> Bent:
    """What `bent` would have found."""
    nothing, parents = jnp.zeros_like(straight), 0 if bend is None else len(bend.width)
    long = unstretched(None, straight)
    return Bent(straight, nothing.sum(-1), nothing[:, :parents], nothing, long)


def stein_field(z: jax.Array, others: jax.Array, scores: jax.Array) -> jax.Array:
    """(1/|B|) Σ_j [k g_j + ∇_j k] at every row of z. The bandwidth is the mean squared distance of
    the others over log |B|: in whitened units as good as the median, and without a sort."""
    count = len(others)
    spread = jnp.sum((others - others.mean(0)) ** 2) / (count - 1)
    slope = jnp.log(float(count)) / jnp.maximum(spread, 1e-12)  # 2/η²
    k = jnp.exp(-0.5 * slope * squared_distances(z, others)) / count
    return k @ (scores - slope * others) + slope * k.sum(1, keepdims=True) * z


def move_some(
    problem: Problem,
    frame: Coordinates,
    random: RandomNumbers,
    own: Any,
    other: Any,
    tuning: Tuning,
    jumping: Any,
) -> tuple[Whitened, jax.Array]:
    """The move of the module's docstring; also the acceptance probability of every particle."""
    size, u = own.z.shape[1], random.jitter
    here = jnp.where(tuning.local, jitter.local_scale(own.score), 0.0)
    e = jnp.exp(tuning.log_step + here + u)[:, None]

    def force(z: Any, g: Any) -> Any:
        f = g
        if problem.beta is not None:
            f = g + problem.beta * stein_field(z, other.z, other.score)
        push = 0.5 * e * e * jnp.linalg.norm(f, axis=1, keepdims=True)
        limit = jnp.minimum(1.0, math.sqrt(size) / jnp.maximum(push, 1e-30))
        return jnp.where(jumping, 0.0, f * limit)

    def leap(carry: Any) -> Any:
        n, cloud, p, f = carry
        p = p + 0.5 * e * f
        cloud = problem.evaluate(frame, cloud.z + e * p)
        f = force(cloud.z, cloud.score)
        return n + 1, cloud, p + 0.5 * e * f, f

    p0 = jnp.where(jumping, random.jump / e, random.momentum)
    begin = (0, own, p0, force(own.z, own.score))
    last = jnp.where(jumping, 1, tuning.leaps)
    _, new, p, _ = jax.lax.while_loop(lambda carry: carry[0] < last, leap, begin)
    # a jump keeps its momentum, which may be so large that p² exceeds float32 precision, so that
    # energies would not cancel
    kinetic = jnp.where(jumping, 0.0, 0.5 * jnp.sum(p * p - p0 * p0, 1))
    there = u + here - jitter.local_scale(new.score)
    backwards = jitter.log_density(there) - jitter.log_density(u)
    backwards = jnp.where(tuning.local & ~jumping, backwards, 0.0)
    energy = new.log_prob - own.log_prob - kinetic + backwards
    likely = jnp.where(jnp.isnan(energy), 0.0, jnp.exp(jnp.minimum(energy, 0.0)))
    taken = jnp.where(jumping, random.accept[:, 1], random.accept[:, 0]) < likely
    kept = Whitened(
        jnp.where(taken[:, None], new.z, own.z),
        jnp.where(taken, new.log_prob, own.log_prob),
        jnp.where(taken[:, None], new.score, own.score),
    )
    return kept, likely


def _move_share(given: Any, rows: Any) -> tuple[Whitened, jax.Array]:
    """`move_some` of a device's share of them."""
    problem, frame, other, tuning, jumping = given
    random, own, log_step = rows
    plan = tuning._replace(log_step=log_step)
    return move_some(problem, frame, random, own, other, plan, jumping)


def move(
    problem: Problem,
    frame: Coordinates,
    random: RandomNumbers,
    cloud: Whitened,
    tuning: Tuning,
    count: int,
) -> tuple[Whitened, Tuning, jax.Array]:
    """All once, and once more with jumps if they are on; then the steps adapt. These particles are
    all of so many, or a device's share."""
    groups = 1 if problem.beta is None else 2
    some = len(cloud.z) // groups

    def turn(n: Any, carry: Any) -> Any:
        """Those in front move and go to the back, with all that is their own."""
        front = jax.tree.map(lambda x: x[:some], carry)
        back = jax.tree.map(lambda x: x[some:], carry)
        own, random, log_step, acceptance = front
        jumping = n >= groups
        given = (problem, frame, back[0], tuning, jumping)
        rows = random, own, log_step
        own, likely = shards.divided(_move_share, given, rows, axes=(0, 0, 0), found=(0, 0))
        front = own, random, log_step, jnp.where(jumping, acceptance, likely)
        return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), back, front)

    turns = jnp.where(tuning.jumps, 2 * groups, groups)
    begin = (cloud, random, tuning.log_step, jnp.zeros_like(tuning.log_step))
    cloud, _, _, acceptance = jax.lax.fori_loop(0, turns, turn, begin)
    pooled = tuning.pooled & (tuning.rate != 0)  # frozen steps need no news of other devices
    miss = shards.mean_of_rows(acceptance, count, pooled) - problem.accept
    # as fast up as down: a step that fell while all was rejected must come back
    miss = miss / jnp.where(miss > 0, 1.0 - problem.accept, problem.accept)
    log_step = tuning.log_step + tuning.rate * miss
    log_step = jnp.clip(log_step, math.log(SHORTEST_STEP), math.log(LONGEST_STEP))
    return cloud, tuning._replace(log_step=log_step), acceptance


@compiled()
def chunk(
    problem: Problem,
    frame: Coordinates,
    random: RandomNumbers,
    moves: Any,
    cloud: Whitened,
    tuning: Tuning,
) -> tuple[Whitened, jax.Array, Records]:
    """The first so many of the moves that there are random numbers for: the last cloud, the steps,
    and a record of every move. Particles that do not feel each other are divided among devices for
    all of it, others in every move."""
    given = problem, frame, moves, tuning, len(cloud.z)
    rows = random, cloud, tuning.log_step
    if problem.beta is not None:
        return _all_moves(given, rows)
    return shards.divided(_all_moves, given, rows, axes=(1, 0, 0), found=(0, 0, 1))


def _all_moves(given: Any, rows: Any) -> tuple[Whitened, jax.Array, Records]:
    """`chunk`, of all particles or of a device's share of so many."""
    (problem, frame, moves, tuning, count), (random, cloud, log_step) = given, rows
    most = len(random.jitter)
    empty = Records(*(jnp.zeros((most, *like.shape), like.dtype) for like in (*cloud, log_step)))

    def once(n: Any, carry: Any) -> Any:
        cloud, log_step, records = carry
        own = jax.tree.map(lambda part: part[n], random)
        now = tuning._replace(log_step=log_step)
        cloud, now, acceptance = move(problem, frame, own, cloud, now, count)
        new = Records(*cloud, acceptance)
        records = jax.tree.map(lambda part, row: part.at[n].set(row), records, new)
        return cloud, now.log_step, records

    return jax.lax.fori_loop(0, moves, once, (cloud, log_step, empty))
