/* The second view: 50 particles on a standard normal in 2 to 200 dimensions.

   Both clouds begin as exact draws and keep the median bandwidth. SVGD takes steps of 1 and SPOS of
   .03, the library's demo settings; what is left of the variance (the mean of θ², the mean being
   known) is SVGD's last value and SPOS's average over the second half of its steps. */

const CLOUD = 50;
const SETTLED = 400; // steps after which a dimension is done
// of the curve, in an order in which it soon has its shape
const TRACK = [2, 20, 5, 50, 10, 100, 200, 3, 32, 70, 140];
const COLLAPSE = { svgd: { step: 1 }, spos: { step: 0.03 } };

class Collapse {
  constructor(dimension, beta, seed) {
    Object.assign(this, { dimension, beta, seed, number: 0 });
    const start = normals(CLOUD * dimension, seed, STREAM.normal, dimension);
    this.clouds = { svgd: start, spos: Float64Array.from(start) };
    this.sum = 0; // of SPOS's variance, over the second half
    this.terms = 0;
  }

  get done() {
    return this.number >= SETTLED;
  }

  step() {
    const noise = normals(CLOUD * this.dimension, this.seed, STREAM.noise, this.number);
    for (const [method, { step }] of Object.entries(COLLAPSE)) {
      const settings = { beta: this.beta, step, rule: "median" };
      const theta = this.clouds[method];
      this.clouds[method] = normalStep(method, theta, this.dimension, settings, noise);
    }
    this.number += 1;
    if (this.number <= SETTLED / 2) return;
    this.sum += meanSquare(this.clouds.spos);
    this.terms += 1;
  }

  /** What is left of the variance of 1. */
  get variances() {
    const late = this.terms > 0 ? this.sum / this.terms : meanSquare(this.clouds.spos);
    return { svgd: meanSquare(this.clouds.svgd), spos: late };
  }
}

/** One step on a standard normal in any dimension. */
function normalStep(method, theta, size, settings, noise) {
  const prepared = prepare(method, STANDARD_NORMAL, theta, size, settings, noise);
  return advance(method, STANDARD_NORMAL, theta, prepared, settings, 0, null).theta;
}

function meanSquare(theta) {
  return theta.reduce((sum, x) => sum + x * x, 0) / theta.length;
}
