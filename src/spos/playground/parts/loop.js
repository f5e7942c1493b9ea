/* The page: one run, its two pictures and its charts, and the loop that moves them. */

const BUDGET = 7; // milliseconds of a frame in which another step may begin
const WORDS_AND_CHARTS = 6; // frames between two looks at the numbers: nobody reads sixty a second
const WORDS_EVERY = 4000; // milliseconds between two summaries of a run that moves
const ADDRESS_EVERY = 1000;

const $ = (selector) => document.querySelector(selector);
const $$ = (selector) => [...document.querySelectorAll(selector)];

const settings = initialSettings();
const run = new Run(settings);
const canvases = $$("#plane .cloud");
const page = {
  playing: false,
  replayTo: 0, // steps that an address asks for
  due: 0, // steps, a fraction
  dirty: true,
  colours: null,
  rough: null, // the log-density of a drawing while it is drawn
  backdrop: null,
  last: 0, // the time of the last frame
  frame: 0,
  spoken: 0,
  stored: 0,
};
const dimension = { now: null, sweep: null, known: new Map() };

function tick(time) {
  requestAnimationFrame(tick);
  const seconds = Math.min(time - page.last, 100) / 1000; // a tab that slept does not catch up
  page.last = time;
  if (settings.view === "dimension") tickDimension();
  else tickPlane(seconds);
  if (time - page.stored > ADDRESS_EVERY) remember(time);
}

function tickPlane(seconds) {
  const replaying = run.number < page.replayTo;
  if (page.playing || replaying) {
    page.due += seconds * stepsASecond(settings.speed);
    if (replaying) page.due = page.replayTo - run.number;
    const until = performance.now() + BUDGET;
    while (page.due >= 1) {
      run.step();
      run.prepareBoth(); // the arrows need it; here its time counts
      page.due -= 1;
      if (performance.now() > until) page.due %= 1;
    }
    page.dirty = true;
  }
  if (!page.dirty) return;
  page.dirty = false;
  page.frame += 1;
  const still = !page.playing && run.number >= page.replayTo;
  const words = still || page.frame % WORDS_AND_CHARTS === 0;
  if (words) run.measure();
  paintPlane(words);
}

function paintPlane(charts) {
  const width = canvases[0].clientWidth;
  if (page.backdrop?.width !== width) {
    page.backdrop = { width, pixels: backdrop(page.rough ?? run.truth.grid, width, page.colours) };
  }
  canvases.forEach((canvas, side) =>
    paintSide(canvas, run, side, page.backdrop.pixels, page.colours));
  if (!charts) return;
  $("#number").textContent = `${run.number} step${run.number === 1 ? "" : "s"}`;
  const sideColours = run.methods.map((method) => page.colours[method]);
  for (const card of $$(".measures .card")) paintCard(card, sideColours);
  const now = performance.now();
  if (!page.playing || now - page.spoken > WORDS_EVERY) {
    page.spoken = now;
    $("#words").textContent = describe(run);
  }
}

function paintCard(card, sideColours) {
  const key = card.dataset.key;
  const canvas = card.querySelector("canvas");
  const { seen, curves } = run;
  const one = key === "shares" && seen.shares.length < 2;
  canvas.hidden = one;
  if (one) {
    card.querySelector(".values").textContent = "This target has only one.";
    return;
  }
  if (key === "shares") {
    card.querySelector(".values").innerHTML = legendText(
      sideColours, run.methods.map((method) => METHODS[method].name), "dotted: truth");
    paintBars(canvas, seen, sideColours, page.colours);
    return;
  }
  const truth = key === "distance" ? seen.floor : seen[key];
  const name = key === "distance" ? "ideal" : "truth";
  const values = seen.sides.map((side) => short(side[key]));
  card.querySelector(".values").innerHTML =
    legendText(sideColours, values, `${name} ${short(truth)}`);
  paintCurves(canvas, curves, key, truth, sideColours, page.colours);
}

function legendText(sideColours, values, last) {
  const parts = values.map((value, n) =>
    `<span><i style="background:${sideColours[n]}"></i><b>${value}</b></span>`);
  return [...parts, `<span>${last}</span>`].join("");
}

