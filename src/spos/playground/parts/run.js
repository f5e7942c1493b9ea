/* Two clouds that start alike and share their noise, moved by two methods.

   Particle i of one cloud and particle i of the other begin at the same place; placing or dragging
   a particle does it in both. The noise of a step is a function of the seed and its number. */

const TRAIL = 6; // places a particle leaves behind
const HISTORY = 320; // points of a curve; beyond, every other one is dropped
const FAR = 1e4; // a particle beyond has left for good: the step was too large

class Run {
  constructor(settings) {
    this.settings = settings;
    this.ink = firstDrawing();
    this.chosen = 0;
    this.changeTarget();
  }

  /** The target that the settings name, with all that is known of it; then from the start. */
  changeTarget() {
    if (this.settings.target === "drawn") {
      this.density = emptyInk();
      this.ink.forEach((point) => addInk(this.density, point));
      this.target = planeTarget(drawnTarget(this.density));
    } else {
      this.target = planeTarget(ANALYTIC[this.settings.target]);
    }
    this.truth = truthOf(this.target);
    this.reset();
  }

  /** More of a drawing; the particles stay where they are. */
  draw(points) {
    const added = points.slice(0, INK.most - this.ink.length);
    this.ink.push(...added);
    added.forEach((point) => addInk(this.density, point));
    this.target = planeTarget(drawnTarget(this.density));
    this.changed();
  }

  /** After a stroke: what is only worth computing once. */
  finishDrawing() {
    this.truth = truthOf(this.target);
    this.changed();
    this.restartCurves();
  }

  /** To the start that seed and settings give. */
  reset() {
    this.start = this.seededStart();
    this.edited = false; // by hand, before the first step
    this.begin();
  }

  /** To a start of one's own. */
  startFrom(theta) {
    this.start = theta;
    this.edited = true;
    this.begin();
  }

  begin() {
    this.touched = this.edited;
    this.setClouds([this.start, Float64Array.from(this.start)], 0);
  }

  setClouds(clouds, number) {
    this.sides = clouds.map((theta) => ({ theta, prepared: null, trail: [theta], lost: false }));
    this.number = number;
    this.chosen = Math.min(this.chosen, this.count - 1);
    this.restartCurves();
  }

  get count() {
    return this.sides[0].theta.length / 2;
  }

  get methods() {
    return [this.settings.left, this.settings.right];
  }

  seededStart() {
    const { seed, start, count } = this.settings;
    const [cx, cy, half] = this.target.window;
    const theta = new Float64Array(2 * count);
    if (start === "spread") {
      const u = uniforms(2 * count, seed, STREAM.start);
      const wide = 1.7 * half;
      for (let n = 0; n < theta.length; n++) theta[n] = (n % 2 ? cy : cx) + wide * (u[n] - 0.5);
    } else {
      const z = normals(2 * count, seed, STREAM.start);
      const [x, y] = [cx - 0.45 * half, cy - 0.25 * half];
      for (let n = 0; n < theta.length; n++) theta[n] = (n % 2 ? y : x) + 0.07 * half * z[n];
    }
    return theta;
  }

  /** What a setting changes; a run that changes midway is no longer one that can be repeated. */
  changed() {
    this.sides.forEach((side) => { side.prepared = null; side.lost = false; });
    if (this.number > 0) this.touched = true;
  }

  /** As many particles as the settings say: the first ones, or more from the start. */
  changeCount() {
    const fresh = this.seededStart();
    const resized = (theta) => {
      const cloud = Float64Array.from(fresh);
      cloud.set(theta.subarray(0, fresh.length));
      return cloud;
    };
    this.start = resized(this.start);
    this.setClouds(this.sides.map(({ theta }) => resized(theta)), this.number);
    this.changed();
  }

  /** One more particle in both clouds. */
  place(x, y) {
    if (this.count >= MOST_PARTICLES) return;
    this.settings.count = this.count + 1;
    this.changeCount();
    this.chosen = this.count - 1;
    this.move(this.chosen, x, y);
  }

  /** Particle `index` of both clouds to one place. */
  move(index, x, y) {
    for (const side of this.sides) {
      side.theta = withPlace(side.theta, index, x, y);
      side.trail = side.trail.map((past) => withPlace(past, index, x, y));
    }
    if (this.number === 0) {
      this.start = Float64Array.from(this.sides[0].theta);
      this.edited = true;
    }
    this.touched = true;
    this.changed();
  }

  /** The forces on all particles of a side and its next noise. */
  prepared(n) {
    const side = this.sides[n];
    side.prepared ??= this.prepareWith(n, this.noise());
    return side.prepared;
  }

  prepareBoth() {
    this.sides.forEach((side, n) => side.lost || this.prepared(n));
  }

  prepareWith(n, noise) {
    return prepare(this.methods[n], this.target, this.sides[n].theta, 2, this.settings, noise);
  }

  noise() {
    return normals(2 * this.count, this.settings.seed, STREAM.noise, this.number);
  }

  /** One step of both; noise and luck of one's own may be given. */
  step(noise, luck) {
    const drawn = luck ?? uniforms(3 * this.count, this.settings.seed, STREAM.luck, this.number);
    this.sides.forEach((side, n) => {
      if (side.lost) return;
      const prepared = noise ? this.prepareWith(n, noise) : this.prepared(n);
      const { theta, places } = advance(
        this.methods[n], this.target, side.theta, prepared, this.settings, this.number, drawn);
      side.prepared = null;
      if (theta.some((x) => !(Math.abs(x) < FAR))) {
        side.lost = true;
        return;
      }
      side.trail = [theta, ...reborn(side.trail, places, theta)].slice(0, TRAIL);
      side.theta = theta;
    });
    this.number += 1;
  }

  restartCurves() {
    this.curves = [];
    this.every = 1;
    this.floor = undefined;
    this.measure();
  }

  /** Look at both clouds, and keep what is seen for the curves. */
  measure() {
    const { truth, count } = this;
    this.floor ??= floorOf(truth, count);
    this.seen = {
      number: this.number,
      floor: this.floor,
      variance: truth.variance,
      epd: Math.sqrt(4 * count * (count - 1) * truth.variance),
      shares: truth.grid.modes.map((mode) => mode.share),
      sides: this.sides.map(({ theta }) => ({
        epd: epdOf(theta, 2),
        variance: varianceOf(theta, 2),
        shares: sharesOf(theta, truth.grid),
        distance: slicedDistance(theta, truth.drawn),
      })),
    };
    const last = this.curves[this.curves.length - 1];
    if (last && last.number === this.number) this.curves.pop();
    else if (last && this.number - last.number < this.every) return this.seen;
    this.curves.push(this.seen);
    if (this.curves.length > HISTORY) {
      this.curves = this.curves.filter((_, n) => n % 2 === 0);
      this.every = 2 * Math.max(this.every, this.number / HISTORY / 2);
    }
    return this.seen;
  }

  /** What an address needs to bring this picture back. */
  snapshot() {
    const repeat = !this.touched && this.number <= LONGEST_REPLAY;
    return {
      at: this.number,
      clouds: repeat ? undefined : this.sides.map((side) => side.theta),
      ink: this.settings.target === "drawn" ? this.ink : undefined,
    };
  }
}

function withPlace(theta, index, x, y) {
  const cloud = Float64Array.from(theta);
  cloud.set([x, y], 2 * index);
  return cloud;
}

/** Trails in which a particle that was replaced has no past. */
function reborn(trail, places, theta) {
  if (!places) return trail;
  return trail.map((past) => {
    const cloud = Float64Array.from(past);
    places.forEach((from, i) => {
      if (from !== i) cloud.set(theta.subarray(2 * i, 2 * i + 2), 2 * i);
    });
    return cloud;
  });
}
