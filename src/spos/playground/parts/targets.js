/* The targets in the plane: `evaluate(x, y, gradient)` gives the log-density up to a constant and
   fills in its gradient. Where draws and variances have formulas they are given as `draw(normal,
   uniform)` and `variance` (the mean over both coordinates); elsewhere `grid.js` finds them.

     Gaussian     covariance ((2, 1.2), (1.2, 1))
     banana       θ1 = 1.5 z1, θ2 = z2 + ½ (θ1² - 1.5²), as `spos.targets.analytic.banana(1.5, 0.5)`
     ring         log p = -½ ((|θ| - 2.5)/.35)²
     funnel       θ2 ~ N(0, 1.2²), θ1 ~ N(0, exp θ2)
     three modes  weights .5, .3, .2, each of standard deviation .5
     U1 … U4      the SPOS paper's shapes, as in `spos.targets.toys` */

const BANANA = { width: 1.5, bend: 0.5 };
const RING = { radius: 2.5, width: 0.35 };
const FUNNEL = 1.2;
const MODES = [
  { weight: 0.5, x: -1.6, y: -0.9 },
  { weight: 0.3, x: 1.6, y: -0.9 },
  { weight: 0.2, x: 0, y: 1.7 },
];
const MODE_WIDTH = 0.5;
const WALL = 4;
const SKIRT = 0.15;

const ANALYTIC = {
  gaussian: {
    name: "Gaussian",
    window: [0, 0, 5],
    variance: 1.5,
    draw(normal) {
      const z = normal();
      return [Math.SQRT2 * z, (1.2 / Math.SQRT2) * z + Math.sqrt(1 - 0.72) * normal()];
    },
    evaluate(x, y, gradient) {
      const determinant = 2 - 1.44;
      gradient[0] = -(x - 1.2 * y) / determinant;
      gradient[1] = -(2 * y - 1.2 * x) / determinant;
      return 0.5 * (x * gradient[0] + y * gradient[1]);
    },
  },
  banana: {
    name: "banana",
    window: [0, 1.3, 5],
    variance: (BANANA.width ** 2 + 1 + 2 * BANANA.width ** 4 * BANANA.bend ** 2) / 2,
    draw(normal) {
      const x = BANANA.width * normal();
      return [x, normal() + BANANA.bend * (x * x - BANANA.width ** 2)];
    },
    evaluate(x, y, gradient) {
      const { width, bend } = BANANA;
      const across = y - bend * (x * x - width * width);
      gradient[0] = 2 * bend * x * across - x / width ** 2;
      gradient[1] = -across;
      return -0.5 * (across ** 2 + (x / width) ** 2);
    },
  },
  ring: {
    name: "ring",
    window: [0, 0, 4.2],
    evaluate(x, y, gradient) {
      const radius = Math.sqrt(x * x + y * y + 1e-12); // has a gradient at the origin
      const slope = -(radius - RING.radius) / RING.width ** 2;
      gradient[0] = (slope * x) / radius;
      gradient[1] = (slope * y) / radius;
      return 0.5 * slope * (radius - RING.radius);
    },
  },
  funnel: {
    name: "funnel",
    window: [0, 0.6, 4.6],
    variance: (FUNNEL ** 2 + Math.exp(FUNNEL ** 2 / 2)) / 2,
    draw(normal) {
      const y = FUNNEL * normal();
      return [Math.exp(y / 2) * normal(), y];
    },
    evaluate(x, y, gradient) {
      const precision = Math.exp(-y);
      gradient[0] = -x * precision;
      gradient[1] = -y / FUNNEL ** 2 + 0.5 * x * x * precision - 0.5;
      return -0.5 * ((y / FUNNEL) ** 2 + x * x * precision + y);
    },
  },
  three: {
    name: "three modes",
    window: [0, 0.3, 3.6],
    variance: MODE_WIDTH ** 2 + betweenModes(),
    draw(normal, uniform) {
      const pick = uniform();
      const mode = MODES[pick < 0.5 ? 0 : pick < 0.8 ? 1 : 2];
      return [mode.x + MODE_WIDTH * normal(), mode.y + MODE_WIDTH * normal()];
    },
    evaluate(x, y, gradient) {
      const logs = MODES.map((mode) =>
        Math.log(mode.weight) + bump(x - mode.x, MODE_WIDTH) + bump(y - mode.y, MODE_WIDTH));
      const top = Math.max(...logs);
      const parts = logs.map((value) => Math.exp(value - top));
      const total = parts[0] + parts[1] + parts[2];
      gradient[0] = gradient[1] = 0;
      MODES.forEach((mode, n) => {
        gradient[0] -= ((parts[n] / total) * (x - mode.x)) / MODE_WIDTH ** 2;
        gradient[1] -= ((parts[n] / total) * (y - mode.y)) / MODE_WIDTH ** 2;
      });
      return top + Math.log(total);
    },
  },
  U1: {
    name: "U1: two moons",
    window: [0, 0, 3.8],
    evaluate(x, y, gradient) {
      const radius = Math.sqrt(x * x + y * y + 1e-12);
      const slope = -(radius - 2) / 0.16;
      const [moons, right] = logAddExp(bump(x - 2, 0.6), bump(x + 2, 0.6));
      gradient[0] = (slope * x) / radius - (right * (x - 2) + (1 - right) * (x + 2)) / 0.36;
      gradient[1] = (slope * y) / radius;
      return 0.5 * slope * (radius - 2) + moons;
    },
  },
  U2: {
    name: "U2: a wave",
    window: [0, 0, 4.6],
    evaluate: (x, y, gradient) => wave(x, y, gradient, 0.4, null),
  },
  U3: {
    name: "U3: a wave that parts",
    window: [0, 0, 4.6],
    evaluate(x, y, gradient) {
      const gap = 3 * Math.exp(bump(x - 1, 0.6));
      return wave(x, y, gradient, 0.35, { gap, slope: (-gap * (x - 1)) / 0.36 });
    },
  },
  U4: {
    name: "U4: a wave that forks",
    window: [0, 0, 4.6],
    evaluate(x, y, gradient) {
      const share = 1 / (1 + Math.exp(-(x - 1) / 0.3));
      return wave(x, y, gradient, 0.4, { gap: 3 * share, slope: 10 * share * (1 - share) });
    },
  },
};

/** Log-density around y = sin(πx/2), and in a second branch (of width .35) lower by `gap`. */
function wave(x, y, gradient, width, branch) {
  const above = y - Math.sin(0.5 * Math.PI * x);
  const risen = -0.5 * Math.PI * Math.cos(0.5 * Math.PI * x); // the slope of `above` in x
  let value = bump(above, width);
  let first = 1;
  let lower = 0;
  if (branch) {
    lower = -(above + branch.gap) / 0.35 ** 2;
    [value, first] = logAddExp(value, bump(above + branch.gap, 0.35));
  }
  const upper = -above / width ** 2;
  gradient[1] = first * upper + (1 - first) * lower;
  gradient[0] = gradient[1] * risen + (branch ? (1 - first) * lower * branch.slope : 0);
  return value - wall(x, y, gradient, WALL, SKIRT);
}

/** ½ Σ_i (max(|z_i| - side, 0) / skirt)², taken off the gradient too. */
function wall(x, y, gradient, side, skirt) {
  const beyond = [x, y].map((z) => Math.max(Math.abs(z) - side, 0));
  gradient[0] -= (Math.sign(x) * beyond[0]) / skirt ** 2;
  gradient[1] -= (Math.sign(y) * beyond[1]) / skirt ** 2;
  return (0.5 * (beyond[0] ** 2 + beyond[1] ** 2)) / skirt ** 2;
}

function bump(x, width) {
  return -0.5 * (x / width) ** 2;
}

/** log(exp a + exp b), and the share of the first. */
function logAddExp(a, b) {
  const top = Math.max(a, b);
  const value = top + Math.log(Math.exp(a - top) + Math.exp(b - top));
  return [value, Math.exp(a - value)];
}

/** What the places of the three modes add to the variance of a coordinate, on average. */
function betweenModes() {
  const mean = (f) => MODES.reduce((sum, mode) => sum + mode.weight * f(mode), 0);
  const [x, y] = [mean((m) => m.x), mean((m) => m.y)];
  return mean((m) => (m.x - x) ** 2 + (m.y - y) ** 2) / 2;
}

/** A target with the two functions that methods ask for. */
function planeTarget(about) {
  const gradient = new Float64Array(2);
  const scores = (theta) => {
    const all = new Float64Array(theta.length);
    for (let n = 0; n < theta.length; n += 2) {
      about.evaluate(theta[n], theta[n + 1], gradient);
      all.set(gradient, n);
    }
    return all;
  };
  const logDensities = (theta) =>
    Float64Array.from({ length: theta.length / 2 }, (_, i) =>
      about.evaluate(theta[2 * i], theta[2 * i + 1], gradient));
  return { ...about, scores, logDensities };
}

/** The standard normal in any dimension. */
const STANDARD_NORMAL = { scores: (theta) => theta.map((x) => -x) };
