/* How a cloud compares with its target.

     EPD        sqrt(Σ_ij |θ_i - θ_j|²), the expected particle distance of the SPOS paper. For M
                independent draws the mean of its square is 4 M (M - 1) v, v the variance.
     variance   of a coordinate, the mean of both (with M - 1).
     share      of the particles in each mode.
     distance   sliced Wasserstein distance to exact draws: the mean over 24 directions u of
                ∫ |F_a - F_b|, F the share of a projected sample at or below x. Finite samples of
                one law are never at distance 0: `floor` is what M exact draws give. */

const DIRECTIONS = 24;
const DRAWS = 2000;
const FLOOR_TRIES = 6;

/** Σ_i |θ_i - mean|². */
function spreadOf(theta, size) {
  const count = theta.length / size;
  let total = 0;
  for (let c = 0; c < size; c++) {
    let [sum, squares] = [0, 0];
    for (let n = c; n < theta.length; n += size) sum += theta[n];
    for (let n = c; n < theta.length; n += size) squares += (theta[n] - sum / count) ** 2;
    total += squares;
  }
  return total;
}

function epdOf(theta, size) {
  return Math.sqrt((2 * theta.length * spreadOf(theta, size)) / size);
}

function varianceOf(theta, size) {
  const count = theta.length / size;
  return count > 1 ? spreadOf(theta, size) / (count - 1) / size : 0;
}

function sharesOf(theta, grid) {
  const shares = new Array(grid.modes.length).fill(0);
  for (let n = 0; n < theta.length; n += 2) {
    shares[modeAt(grid, theta[n], theta[n + 1])] += 2 / theta.length;
  }
  return shares;
}

/** A sample seen from every direction, in order. */
function projections(theta) {
  return Array.from({ length: DIRECTIONS }, (_, n) => {
    const angle = (Math.PI * (n + 0.5)) / DIRECTIONS;
    const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
    const line = new Float64Array(theta.length / 2);
    for (let i = 0; i < line.length; i++) line[i] = ux * theta[2 * i] + uy * theta[2 * i + 1];
    return line.sort();
  });
}

function slicedDistance(theta, drawn) {
  const lines = projections(theta);
  return lines.reduce((sum, line, n) => sum + lineDistance(line, drawn[n]), 0) / DIRECTIONS;
}

/** ∫ |F_a - F_b| of two sorted samples. */
function lineDistance(a, b) {
  let [i, j, total] = [0, 0, 0];
  let x = Math.min(a[0], b[0]);
  while (i < a.length || j < b.length) {
    const next = Math.min(i < a.length ? a[i] : Infinity, j < b.length ? b[j] : Infinity);
    total += Math.abs(i / a.length - j / b.length) * (next - x);
    x = next;
    while (i < a.length && a[i] <= x) i++;
    while (j < b.length && b[j] <= x) j++;
  }
  return total;
}

/** All there is to know of a target: its grid, draws, variance. */
function truthOf(target) {
  const grid = gridOf(target);
  const draw = target.draw || gridDraw(grid);
  const variance = target.variance ?? gridVariance(grid);
  return { grid, draw, variance, drawn: projections(drawFrom(draw, DRAWS, 0)) };
}

function drawFrom(draw, count, number) {
  const uniform = generator(0, STREAM.draws, number);
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const theta = new Float64Array(2 * count);
  for (let i = 0; i < count; i++) theta.set(draw(normal, uniform), 2 * i);
  return theta;
}

/** The distance that as many exact draws have, on average. */
function floorOf(truth, count) {
  let total = 0;
  for (let n = 1; n <= FLOOR_TRIES; n++) {
    total += slicedDistance(drawFrom(truth.draw, count, n), truth.drawn) / FLOOR_TRIES;
  }
  return total;
}
