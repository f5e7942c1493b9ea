/* The methods: what moves particle θ_i with the score s_i (the gradient of the log-density).

   A step is θ_i += h (own_i + others_i + push_i) + kick_i, with k_ij the kernel, c = 2/η²,
   g_ij = k_ij c (θ_i - θ_j) the push that j gives to i, k_i = Σ_j k_ij, ξ standard normals:

                  own            others                   push                          kick
     SPOS         s_i/β + s_i/M  (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij                √(2h/β) ξ_i
     SVGD         s_i/M          (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij                none
     SGLD         s_i/β                                                                 √(2h/β) ξ_i
     blob         s_i                                     Σ_j g_ij (1/k_i + 1/k_j)      none
     GFSF         s_i                                     (K + .01 I)⁻¹ Σ_j g_ij        none
     noisy SVGD   s_i/M          (1/M) Σ_{j≠i} k_ij s_j   (1/M) Σ_j g_ij                √(2h/M) (L ξ)_i, K = L Lᵀ
     birth-death  SGLD, and after every tenth step births and deaths (`birth_death.js`)

   These are the formulas of `spos.spos`, `spos.svgd`, …: the kernel's own term k_ii s_i = s_i of the
   Stein direction is counted as a particle's own. A test compares the two, number by number. */

const RIDGE = 0.01;

const METHODS = {
  spos: {
    name: "SPOS",
    about: "own score + shared scores + repulsion + noise",
    own: "langevin", interaction: "stein", noise: "langevin",
  },
  svgd: {
    name: "SVGD",
    about: "shared scores + repulsion, no noise",
    own: "none", interaction: "stein", noise: "none",
  },
  sgld: {
    name: "SGLD",
    about: "own score + noise, each particle for itself",
    own: "langevin", interaction: "none", noise: "langevin",
  },
  blob: {
    name: "blob",
    about: "own score + repulsion by smoothed density, no noise",
    own: "score", interaction: "blob", noise: "none",
  },
  gfsf: {
    name: "GFSF",
    about: "own score + repulsion by a fitted field, no noise",
    own: "score", interaction: "gfsf", noise: "none",
  },
  noisy_svgd: {
    name: "noisy SVGD",
    about: "SVGD + noise that neighbours share",
    own: "none", interaction: "stein", noise: "kernel",
  },
  birth_death: {
    name: "birth–death",
    about: "SGLD + the crowded die, the lonely double",
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
  const others = new Float64Array(theta.length);
  let push = new Float64Array(theta.length);
  if (interaction === "none") return { own, others, push, pairs: null };
  const pairs = pairsOf(theta, count, size, bandwidthFor(method, settings));
  const { k, eta2 } = pairs;
  if (stein) {
    attract(others, k, scores, count, size);
    repel(push, k, theta, count, size, () => 2 / eta2 / count);
  } else if (interaction === "blob") {
    const crowd = new Float64Array(count);
    for (let i = 0; i < count; i++) for (let j = 0; j < count; j++) crowd[i] += k[i * count + j];
    repel(push, k, theta, count, size, (i, j) => (2 / eta2) * (1 / crowd[i] + 1 / crowd[j]));
  } else {
    repel(push, k, theta, count, size, () => 2 / eta2);
    push = choleskySolve(cholesky(k, count, RIDGE), push, count, size);
  }
  return { own, others, push, pairs };
}

/** (1/M) Σ_{j≠i} k_ij s_j. */
function attract(sum, k, scores, count, size) {
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) {
      if (i === j) continue;
      const weight = k[i * count + j] / count;
      for (let c = 0; c < size; c++) sum[i * size + c] += weight * scores[j * size + c];
    }
  }
}

/** Σ_j k_ij scale_ij (θ_i - θ_j), for a symmetric scale. */
function repel(sum, k, theta, count, size, scale) {
  for (let i = 1; i < count; i++) {
    for (let j = 0; j < i; j++) {
      const weight = k[i * count + j] * scale(i, j);
      for (let a = i * size, b = j * size, end = a + size; a < end; a++, b++) {
        const part = weight * (theta[a] - theta[b]);
        sum[a] += part;
        sum[b] -= part;
      }
    }
  }
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
