/* The methods: what moves particle θ_i with the score s_i (the gradient of the log-density).

   A step is θ_i += h (own_i + others_i + push_i) + kick_i, with k_ij the kernel, c = 2/η²,
   g_ij = k_ij c (θ_i - θ_j) the push that j gives to i, k_i = Σ_j k_ij, K = L Lᵀ the matrix of the
   k_ij, and ξ standard normals:

                own            others                   push                        kick
   SPOS         s_i/β + s_i/M  (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij              √(2h/β) ξ_i
   SVGD         s_i/M          (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij              none
   SGLD         s_i/β                                                               √(2h/β) ξ_i
   blob         s_i                                     Σ_j g_ij (1/k_i + 1/k_j)    none
   GFSF         s_i                                     (K + .01 I)⁻¹ Σ_j g_ij      none
   noisy SVGD   s_i/M          (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij              √(2h/M) (L ξ)_i
   birth-death  SGLD, and after every tenth step births and deaths (`birth_death.js`)

   These are the formulas of `spos.spos`, `spos.svgd`, …: the term k_ii s_i = s_i of the Stein
   direction is counted as a particle's own. A test compares the two, number by number. */

const RIDGE = 0.01;

const METHODS = {
  spos: {
    name: "SPOS",
    about: "own and shared scores, repulsion, noise",
    own: "langevin", interaction: "stein", noise: "langevin",
  },
  svgd: {
    name: "SVGD",
    about: "shared scores and repulsion, no noise",
    own: "none", interaction: "stein", noise: "none",
  },
  sgld: {
    name: "SGLD",
    about: "own score and noise, each for itself",
    own: "langevin", interaction: "none", noise: "langevin",
  },
  blob: {
    name: "blob",
    about: "own score, repulsion by density",
    own: "score", interaction: "blob", noise: "none",
  },
  gfsf: {
    name: "GFSF",
    about: "own score, fitted repulsion",
    own: "score", interaction: "gfsf", noise: "none",
  },
  noisy_svgd: {
    name: "noisy SVGD",
    about: "SVGD, and noise that neighbours share",
    own: "none", interaction: "stein", noise: "kernel",
  },
  birth_death: {
    name: "birth–death",
    about: "SGLD; the crowded die, the lonely double",
    own: "langevin", interaction: "none", noise: "langevin", exchange: true,
  },
};

/** η² as a method takes it: noisy SVGD is exact only for a number. */
function bandwidthFor(method, settings) {
  const fixed = METHODS[method].noise === "kernel" || settings.rule === "fixed";
  return fixed ? settings.bandwidth : "median";
}

/** The three forces on every particle, and the pairs they came from (null without a kernel). */
function forces(method, theta, scores, size, settings) {
  const { own: kind, interaction } = METHODS[method];
  const count = theta.length / size;
  const stein = interaction === "stein";
  const weight = { langevin: 1 / settings.beta, score: 1, none: 0 }[kind] + (stein ? 1 / count : 0);
  const own = scores.map((s) => weight * s);
  const none = new Float64Array(theta.length);
  if (interaction === "none") return { own, others: none, push: none, pairs: null };
  const columns = transposed(theta, count);
  const pairs = pairsOf(columns, count, bandwidthFor(method, settings));
  const { k, eta2 } = pairs;
  const slope = 2 / eta2;
  const repelled = (weights, scale) => transposed(repel(weights, columns, count, scale), size);
  if (stein) {
    const others = transposed(attract(k, transposed(scores, count), count), size);
    return { own, others, push: repelled(k, slope / count), pairs };
  }
  if (interaction === "blob") {
    return { own, others: none, push: repelled(shared(k, count), slope), pairs };
  }
  const root = cholesky(k, count, RIDGE);
  return { own, others: none, push: choleskySolve(root, repelled(k, slope), count, size), pairs };
}

/** (1/M) Σ_{j≠i} k_ij s_j, in columns. */
function attract(k, scores, count) {
  const sum = new Float64Array(scores.length);
  for (let i = 1, row = 0; i < count; row += i++) {
    for (let first = 0; first < scores.length; first += count) {
      const here = scores[first + i] / count;
      let total = 0;
      for (let j = 0; j < i; j++) {
        total += k[row + j] * scores[first + j];
        sum[first + j] += k[row + j] * here;
      }
      sum[first + i] += total / count;
    }
  }
  return sum;
}

/** Σ_j scale weight_ij (θ_i - θ_j) for a symmetric weight, in columns. */
function repel(weights, theta, count, scale) {
  const sum = new Float64Array(theta.length);
  for (let i = 1, row = 0; i < count; row += i++) {
    for (let first = 0; first < theta.length; first += count) {
      const here = theta[first + i];
      let total = 0;
      for (let j = 0; j < i; j++) {
        const part = scale * weights[row + j] * (here - theta[first + j]);
        total += part;
        sum[first + j] -= part;
      }
      sum[first + i] += total;
    }
  }
  return sum;
}

/** k_ij (1/k_i + 1/k_j). */
function shared(k, count) {
  const crowd = new Float64Array(count).fill(1);
  for (let i = 1, n = 0; i < count; i++) {
    for (let j = 0; j < i; j++, n++) {
      crowd[i] += k[n];
      crowd[j] += k[n];
    }
  }
  const weights = new Float64Array(k.length);
  for (let i = 1, n = 0; i < count; i++) {
    for (let j = 0; j < i; j++, n++) weights[n] = k[n] * (1 / crowd[i] + 1 / crowd[j]);
  }
  return weights;
}

/** How far the noise moves every particle in a unit of time; null without noise. */
function kick(method, noise, pairs, size, settings) {
  const kind = METHODS[method].noise;
  if (kind === "none") return null;
  if (kind === "langevin") return noise.map((xi) => Math.sqrt(2 / settings.beta) * xi);
  const count = noise.length / size;
  const root = cholesky(pairs.k, count, 8 * count * Number.EPSILON);
  return choleskyTimes(root, noise, count, size).map((x) => Math.sqrt(2 / count) * x);
}

/** All that the next step needs and the arrows show. */
function prepare(method, target, theta, size, settings, noise) {
  const found = forces(method, theta, target.scores(theta), size, settings);
  return { ...found, jump: kick(method, noise, found.pairs, size, settings) };
}

/** Particles after the step; `number` counts the steps taken before. */
function advance(method, target, theta, prepared, settings, number, luck) {
  const { own, others, push, jump } = prepared;
  const far = Math.sqrt(settings.step);
  const moved = theta.map(
    (x, n) => x + settings.step * (own[n] + others[n] + push[n]) + (jump ? far * jump[n] : 0));
  const due = METHODS[method].exchange && (number + 1) % EXCHANGE_EVERY === 0;
  const places = due ? exchange(target, moved, settings.step, luck) : null;
  return { theta: places ? taken(moved, places) : moved, places };
}
