/* The page: one run, its two pictures and charts, the second view, and the loop that moves them. */

const BUDGET = 11; // milliseconds of a frame that steps may take
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
  image: null,
  frame: 0,
  spoken: 0,
  stored: 0,
};
const dimension = { now: null, sweep: null, known: new Map() };

// ---------------------------------------------------------------- the loop

function tick(time) {
  requestAnimationFrame(tick);
  if (settings.view === "dimension") tickDimension();
  else tickPlane();
  if (time - page.stored > ADDRESS_EVERY) remember(time);
}

function tickPlane() {
  const replaying = run.number < page.replayTo;
  if (page.playing || replaying) {
    page.due = replaying ? page.replayTo - run.number : page.due + 2 ** settings.speed;
    const until = performance.now() + BUDGET;
    while (page.due >= 1) {
      run.step();
      page.due -= 1;
      if (performance.now() > until) page.due %= 1;
    }
    page.dirty = true;
  }
  if (!page.dirty) return;
  page.dirty = false;
  page.frame += 1;
  const still = !page.playing && run.number >= page.replayTo;
  if (still || page.frame % 3 === 0) run.measure();
  paintPlane(still || page.frame % 3 === 0);
}

function paintPlane(charts) {
  page.image ??= densityImage(run.truth.grid, page.colours.shade);
  canvases.forEach((canvas, side) => paintSide(canvas, run, side, page.image, page.colours));
  $("#number").textContent = `${run.number} step${run.number === 1 ? "" : "s"}`;
  if (!charts) return;
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
    card.querySelector(".values").textContent = "This target has one mode.";
    return;
  }
  if (key === "shares") {
    card.querySelector(".values").innerHTML = legendText(sideColours, ["", ""], "dotted: truth");
    paintBars(canvas, seen, sideColours, page.colours);
    return;
  }
  const truth = key === "distance" ? seen.floor : seen[key];
  const name = key === "distance" ? "exact draws" : "truth";
  const values = seen.sides.map((side) => short(side[key]));
  card.querySelector(".values").innerHTML =
    legendText(sideColours, values, `${name} ${short(truth)}`);
  paintCurves(canvas, curves, key, truth, sideColours, page.colours);
}

function legendText(sideColours, values, last) {
  const parts = values.map((value, n) =>
    `<span><i style="background:${sideColours[n]}"></i><b>${value || METHODS[run.methods[n]].name}</b></span>`);
  return [...parts, `<span>${last}</span>`].join("");
}

function tickDimension() {
  const until = performance.now() + BUDGET;
  const { now } = dimension;
  do {
    if (!now.done) now.step();
    else if (dimension.sweep) sweepStep();
  } while ((!now.done || dimension.sweep) && performance.now() < until);
  if (now.done) dimension.known.set(now.dimension, now.variances);
  if (!page.dirty && now.done && !dimension.sweep) return;
  page.dirty = false;
  ["svgd", "spos"].forEach((method, n) => paintShadow(
    $$("#dimension .cloud")[n], now.clouds[method], now.dimension, page.colours[method],
    page.colours));
  ["svgd", "spos"].forEach((method, n) => {
    $$("#dimension .about")[n].textContent = `variance ${now.variances[method].toFixed(2)} of 1`;
  });
  paintTrack($("#track"), dimension.known, now, page.colours);
  const time = performance.now();
  if (now.done || time - page.spoken > WORDS_EVERY) {
    page.spoken = time;
    const text = describeCollapse(now);
    if ($("#dimension-words").textContent !== text) $("#dimension-words").textContent = text;
  }
}

/** The rest of the curve, one dimension after the other. */
function sweepStep() {
  dimension.sweep.step();
  if (!dimension.sweep.done) return;
  dimension.known.set(dimension.sweep.dimension, dimension.sweep.variances);
  nextInSweep();
}

function nextInSweep() {
  const left = TRACK.filter((d) => !dimension.known.has(d));
  dimension.sweep = left.length ? new Collapse(left[0], settings.beta, settings.seed) : null;
}

function startCollapse(forget) {
  if (forget) dimension.known.clear();
  dimension.now = new Collapse(settings.dimension, settings.beta, settings.seed);
  nextInSweep();
  page.dirty = true;
}

// ---------------------------------------------------------------- what the reader does

function play(on) {
  page.playing = on;
  page.replayTo = 0;
  page.due = 0;
  $("#play").textContent = on ? "Pause" : "Play";
  page.dirty = true;
  page.stored = 0;
}

function stepOnce() {
  play(false);
  run.step();
}

function reset() {
  page.replayTo = 0;
  page.due = 0;
  run.begin();
  page.dirty = true;
}

function anotherSeed() {
  settings.seed = (settings.seed % 9999) + 1;
  run.begin();
  if (settings.view === "dimension") startCollapse(true);
  refresh();
}

const CHANGES = {
  count: () => run.changeCount(),
  target: () => { run.changeTarget(); page.image = null; },
  start: () => run.reset(),
  speed: () => {},
  dimension: () => startCollapse(false),
  beta: () => { run.changed(); if (settings.view === "dimension") startCollapse(true); },
};

function changed(name) {
  (CHANGES[name] || (() => run.changed()))();
  refresh();
}

/** The controls as the settings have them. */
function refresh() {
  moveSliders();
  for (const side of [0, 1]) {
    const method = run.methods[side];
    $$("#plane .head select")[side].value = method;
    $$("#plane .about")[side].textContent = METHODS[method].about;
    $$("#plane .panel")[side].style.setProperty("--side", `var(--${method})`);
    canvases[side].setAttribute("aria-label", `${METHODS[method].name}: a cloud of particles. Arrow `
      + "keys move the chosen one, brackets choose another, Enter adds one.");
  }
  $("#target").value = settings.target;
  $("#start").value = settings.start;
  $(`input[name="rule"][value="${settings.rule}"]`).checked = true;
  const fixed = run.methods.some((method) => bandwidthFor(method, settings) !== "median");
  $("fieldset").classList.toggle("idle", !fixed);
  $(".seed output").textContent = settings.seed;
  const drawn = settings.target === "drawn";
  $("#drawing").hidden = !drawn;
  canvases.forEach((canvas) => canvas.classList.toggle("drawing", drawn && $("#pen").checked));
  $("#hint").textContent = drawn && $("#pen").checked
    ? "Draw on a cloud: the ink is the density. Without the pen you place and drag particles."
    : "Click to add a particle, drag one to move it: the arrows are the forces on it.";
  for (const button of $$("nav [data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === settings.view));
  }
  $("#plane").hidden = settings.view !== "plane";
  $("#dimension").hidden = settings.view !== "dimension";
  $$("#dimension .panel").forEach((panel, n) =>
    panel.style.setProperty("--side", `var(--${["svgd", "spos"][n]})`));
  page.dirty = true;
  page.stored = 0;
}

function showView(view) {
  settings.view = view;
  if (view === "dimension" && !dimension.now) startCollapse(false);
  refresh();
}

function applyTheme() {
  const dark = settings.theme === "auto"
    ? matchMedia("(prefers-color-scheme: dark)").matches : settings.theme === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("#theme").textContent = dark ? "Light" : "Dark";
  page.colours = readColours();
  page.image = null;
  page.dirty = true;
}

// ---------------------------------------------------------------- the address

function address() {
  const more = settings.view === "plane" ? run.snapshot() : {};
  return writeAddress(settings, more);
}

function remember(time) {
  page.stored = time;
  if (run.number < page.replayTo) return;
  const text = `#${address()}`;
  if (text !== location.hash) history.replaceState(null, "", text);
}

/** Everything as the address says. */
function open(hash) {
  const { settings: said, at, clouds, ink } = readAddress(hash);
  Object.assign(settings, said);
  if (ink) run.ink = ink;
  run.changeTarget();
  page.image = null;
  applyTheme();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  play(at === undefined && !still);
  if (clouds) {
    run.setClouds(clouds, at ?? 0);
    run.touched = true;
  } else {
    page.replayTo = Math.min(at ?? 0, LONGEST_REPLAY);
  }
  if (settings.view === "dimension") startCollapse(true);
  refresh();
}

async function share() {
  remember(0);
  const button = $("#share");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Link is in the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
}

// ---------------------------------------------------------------- wiring

fillSelect($("#target"), {
  ...Object.fromEntries(Object.entries(ANALYTIC).map(([key, { name }]) => [key, name])),
  drawn: "draw your own",
});
$$("#plane .head select").forEach((select, side) => {
  fillSelect(select, Object.fromEntries(Object.entries(METHODS).map(([key, m]) => [key, m.name])));
  select.addEventListener("change", () => {
    settings[side ? "right" : "left"] = select.value;
    changed("method");
  });
});
const moveSliders = bindSliders(settings, changed);
for (const name of ["target", "start"]) {
  $(`#${name}`).addEventListener("change", (event) => {
    settings[name] = event.target.value;
    changed(name);
  });
}
for (const radio of $$('input[name="rule"]')) {
  radio.addEventListener("change", () => { settings.rule = radio.value; changed("rule"); });
}
$("#bandwidth").addEventListener("input", () => { settings.rule = "fixed"; changed("rule"); });
$("#play").addEventListener("click", () => play(!page.playing));
$("#step").addEventListener("click", stepOnce);
$("#reset").addEventListener("click", reset);
$("#seed").addEventListener("click", anotherSeed);
$("#share").addEventListener("click", share);
$("#pen").addEventListener("change", refresh);
$("#clear").addEventListener("click", () => { run.clearDrawing(); page.image = null; refresh(); });
$(".controls").addEventListener("submit", (event) => event.preventDefault());
for (const button of $$("nav [data-view]")) {
  button.addEventListener("click", () => showView(button.dataset.view));
}
$("#theme").addEventListener("click", () => {
  settings.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  applyTheme();
  refresh();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
$(".legend").innerHTML = ARROWS.map(({ key, name }) =>
  `<li><svg viewBox="0 0 26 10" aria-hidden="true" style="color:var(--${key})"><path d="M1 5H18" `
  + 'stroke="currentColor" stroke-width="3" stroke-linecap="round" fill="none"'
  + `${key === "jump" ? ' stroke-dasharray=".5 5"' : ""}/><path d="M26 5L17 0V10Z" `
  + `fill="currentColor"/></svg>${name}</li>`).join("");
new ResizeObserver(() => { page.dirty = true; }).observe(document.body);
window.addEventListener("hashchange", () => open(location.hash));
bindPointers();
bindKeys();
open(location.hash);
requestAnimationFrame(tick);
