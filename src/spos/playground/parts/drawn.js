/* A target drawn by hand. The drawing is a list of points q; the density is theirs, smoothed, with
   a skirt that leads back to the ink and a faint floor:

       ρ(z) = Σ_q [ exp(-|z - q|²/2(.3)²) + .001 exp(-|z - q|²/2(1.5)²) ] + 1e-6 exp(-|z|²/2(4)²).

   log ρ is taken on a grid of 64 × 64 points, the coefficients of a cubic B-spline: a smooth
   log-density whose gradient is exact and costs sixteen numbers, however long the drawing. A wall
   keeps particles in the square |z_i| ≤ 4.8. */

const INK = { side: 64, reach: 5, wall: 4.8, skirt: 0.3, most: 600, spacing: 0.16 };
const INK_CELL = (2 * INK.reach) / (INK.side - 1);
const INK_UNIT = 0.04; // points lie on a grid of this width, so that a coordinate is one byte

/** ρ without any ink. */
function emptyInk() {
  const at = (n) => -INK.reach + n * INK_CELL;
  return Float64Array.from({ length: INK.side ** 2 }, (_, n) => {
    const [x, y] = [at(n % INK.side), at(Math.floor(n / INK.side))];
    return 1e-6 * Math.exp(-(x * x + y * y) / 32);
  });
}

/** Add one point to ρ. */
function addInk(density, [qx, qy]) {
  for (let row = 0, n = 0; row < INK.side; row++) {
    const y = -INK.reach + row * INK_CELL - qy;
    for (let column = 0; column < INK.side; column++, n++) {
      const x = -INK.reach + column * INK_CELL - qx;
      const sq = x * x + y * y;
      density[n] += Math.exp(-sq / 0.18) + 0.001 * Math.exp(-sq / 4.5);
    }
  }
}

/** The points of a stroke from one place to the next, without the first. */
function strokePoints(from, to) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const pieces = Math.floor(length / INK.spacing);
  return Array.from({ length: pieces }, (_, n) => {
    const share = (n + 1) / pieces;
    return inkPoint(from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1]));
  });
}

/** The nearest place a point can have. */
function inkPoint(x, y) {
  const snap = (z) => Math.round(Math.max(-4.6, Math.min(4.6, z)) / INK_UNIT) * INK_UNIT;
  return [snap(x), snap(y)];
}

function drawnTarget(density) {
  const coefficients = density.map(Math.log);
  return {
    name: "drawn by you",
    window: [0, 0, INK.reach],
    evaluate(x, y, gradient) {
      const inside = (z) => Math.max(-INK.wall, Math.min(INK.wall, z));
      const [u, v] = [spline(inside(x)), spline(inside(y))];
      let [value, dx, dy] = [0, 0, 0];
      for (let b = 0; b < 4; b++) {
        for (let a = 0; a < 4; a++) {
          const c = coefficients[(v.first + b) * INK.side + u.first + a];
          value += c * u.weights[a] * v.weights[b];
          dx += c * u.slopes[a] * v.weights[b];
          dy += c * u.weights[a] * v.slopes[b];
        }
      }
      gradient[0] = Math.abs(x) > INK.wall ? 0 : dx / INK_CELL;
      gradient[1] = Math.abs(y) > INK.wall ? 0 : dy / INK_CELL;
      return value - wall(x, y, gradient, INK.wall, INK.skirt);
    },
  };
}

/** The four cubic B-splines at z, and their slopes per cell. */
function spline(z) {
  const place = (z + INK.reach) / INK_CELL;
  const cell = Math.floor(place);
  const t = place - cell;
  const r = 1 - t;
  const inner = (s) => (3 * s ** 3 - 6 * s * s + 4) / 6;
  return {
    first: cell - 1,
    weights: [r ** 3 / 6, inner(t), inner(r), t ** 3 / 6],
    slopes: [(-r * r) / 2, (3 * t * t) / 2 - 2 * t, 2 * r - (3 * r * r) / 2, (t * t) / 2],
  };
}

/** What is there before anything is drawn: two eyes and a smile. */
function firstDrawing() {
  const points = [[-1.5, 1.4], [-1.4, 1.5], [-1.6, 1.5], [1.5, 1.4], [1.4, 1.5], [1.6, 1.5]];
  for (let n = 0; n <= 20; n++) {
    const angle = Math.PI * (1.13 + 0.74 * (n / 20));
    points.push([2.6 * Math.cos(angle), 0.7 + 2.6 * Math.sin(angle)]);
  }
  return points.map(([x, y]) => inkPoint(x, y));
}
