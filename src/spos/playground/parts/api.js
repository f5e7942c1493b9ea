/* What tests and the curious can call from the console: `spos`. Clouds are lists of [x, y]. */

const rows = (theta, size = 2) =>
  Array.from({ length: theta.length / size }, (_, i) => [...theta.slice(i * size, (i + 1) * size)]);
const flatten = (list) => Float64Array.from(list.flat());

window.spos = {
  methods: Object.keys(METHODS),
  targets: [...Object.keys(ANALYTIC), "drawn"],

  /** Change settings, such as { target: "banana", left: "blob", beta: 2 }. */
  set(more) {
    for (const [name, value] of Object.entries(more)) {
      const read = FIELDS[name] && FIELDS[name].read(String(value));
      if (read === undefined) throw new RangeError(`${name} cannot be ${JSON.stringify(value)}`);
      settings[name] = read;
      changed(name);
    }
  },
  settings: () => ({ ...settings }),
  window: () => run.target.window,

  /** Both clouds at these places, before the first step. */
  setParticles(list) {
    play(false);
    settings.count = list.length;
    run.startFrom(flatten(list));
    refresh();
  },
  particles: () => run.sides.map((side) => rows(side.theta)),

  /** One step of both; `noise` has a normal for each number, `luck` three rows of uniforms. */
  step(noise, luck) {
    play(false);
    run.step(noise && flatten(noise), luck && flatten(luck));
    return this.particles();
  },
  play: () => play(true),
  pause: () => play(false),
  number: () => run.number,
  touched: () => run.touched,
  replaying: () => run.number < page.replayTo,

  /** The forces on every particle of a side, and its noise in a unit of time. */
  forces(side) {
    const { own, others, push, jump, pairs } = run.prepared(side);
    return {
      own: rows(own), others: rows(others), push: rows(push),
      jump: jump && rows(jump), eta2: pairs ? pairs.eta2 : null,
    };
  },
  logDensity: (list) => [...run.target.logDensities(flatten(list))],
  score: (list) => rows(run.target.scores(flatten(list))),
  measure: () => run.measure(),
  /** Draws from the target; number 0 are those that distances are measured to. */
  exactDraws: (count, number = 99) => rows(drawFrom(run.truth.draw, count, number)),
  ink: () => run.ink,
  draw(points) {
    run.draw(points.map(([x, y]) => inkPoint(x, y)));
    run.finishDrawing();
    page.backdrop = null;
    refresh();
  },

  /** One step on a standard normal in any dimension. */
  normalStep(method, list, more, noise) {
    const size = list[0].length;
    return rows(normalStep(method, flatten(list), size, more, flatten(noise)), size);
  },
  /** What is left of the variance in a dimension, as the second view has it. */
  collapse(dimension, beta = 1, seed = 1) {
    const one = new Collapse(dimension, beta, seed);
    while (!one.done) one.step();
    return one.variances;
  },

  /** Milliseconds of each of `frames` frames: one step of both sides, measures as due, drawing. */
  time(frames) {
    play(false);
    return Array.from({ length: frames }, (_, n) => {
      const began = performance.now();
      run.step();
      if (n % 3 === 0) run.measure();
      paintPlane(n % 3 === 0);
      // a pixel is asked for, so that the drawing is finished and not only queued
      canvases.forEach((canvas) => canvas.getContext("2d").getImageData(0, 0, 1, 1));
      return performance.now() - began;
    });
  },
};
