/* Births and deaths in the plane, as in `spos.birth_death` with its defaults.

   With μ a kernel density of the particles, Λ_i = log μ(θ_i) - log p(θ_i) less its mean: a particle
   with Λ > 0 dies at the rate Λ and a copy of another takes its place, one with Λ < 0 doubles at
   the rate -Λ in place of another.

       log μ(θ_i) = log Σ_j exp(-|z_i - z_j|² / 2w),   |z|² = θᵀ S θ,   S = (1/M) Σ_m s_m s_mᵀ,

   w the median squared distance |z|² to the √M-th neighbour. */

const EXCHANGE_EVERY = 10;
const EXCHANGE_RATE = 0.1;

/** For each place, the particle that stands there afterwards. */
function exchange(target, theta, step, luck) {
  const logs = target.logDensities(theta);
  const crowded = crowding(theta, target.scores(theta));
  const excess = crowded.map((value, i) => value - logs[i]);
  const mean = excess.reduce((sum, value) => sum + value, 0) / excess.length;
  const time = EXCHANGE_RATE * EXCHANGE_EVERY * step;
  return successors(excess.map((value) => time * (value - mean)), luck);
}

function crowding(theta, scores) {
  const count = theta.length / 2;
  let [xx, xy, yy] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    xx += scores[2 * i] ** 2 / count;
    xy += (scores[2 * i] * scores[2 * i + 1]) / count;
    yy += scores[2 * i + 1] ** 2 / count;
  }
  const sq = new Float64Array(count * count);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) {
      const x = theta[2 * i] - theta[2 * j];
      const y = theta[2 * i + 1] - theta[2 * j + 1];
      sq[i * count + j] = xx * x * x + 2 * xy * x * y + yy * y * y;
    }
  }
  const neighbour = Math.min(Math.round(Math.sqrt(count)), count - 1);
  const widths = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    widths[i] = nthSmallest(sq.slice(i * count, (i + 1) * count), neighbour);
  }
  const width = Math.max(medianOf(widths), 1e-30);
  const density = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const end = (i + 1) * count;
    for (let n = i * count; n < end; n++) density[i] += Math.exp((-0.5 * sq[n]) / width);
  }
  return density.map(Math.log);
}

/** `luck` has three uniform numbers for each particle, one kind after the other. */
function successors(excess, luck) {
  const count = excess.length;
  const dies = [];
  const born = [];
  for (let i = 0; i < count; i++) {
    const happens = luck[i] < 1 - Math.exp(-Math.abs(excess[i]));
    dies.push(happens && excess[i] > 0);
    born.push(happens && excess[i] < 0);
  }
  const all = Array.from({ length: count }, (_, i) => i);
  const survivors = all.filter((i) => !dies[i]);
  const stays = all.map((i) =>
    dies[i] ? survivors[Math.floor(luck[count + i] * survivors.length)] : i);
  const parents = [...all].sort((i, j) => luck[2 * count + i] - luck[2 * count + j] || i - j);
  return all.map((i) => (born[parents[i]] ? parents[i] : stays[i]));
}

function taken(theta, places) {
  const moved = new Float64Array(theta.length);
  places.forEach((from, i) => moved.set(theta.subarray(2 * from, 2 * from + 2), 2 * i));
  return moved;
}
