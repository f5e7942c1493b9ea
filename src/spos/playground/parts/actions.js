/* What the reader can do, and the address that remembers it. */

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
  run.reset();
  if (settings.view === "dimension") startCollapse(true);
  refresh();
}

const CHANGES = {
  count: () => run.changeCount(),
  target: () => { run.changeTarget(); page.backdrop = null; },
  start: () => run.reset(),
  speed: () => {},
  theme: () => applyTheme(),
  view: () => { if (settings.view === "dimension" && outdated()) startCollapse(true); },
  dimension: () => startCollapse(false),
  beta: () => { run.changed(); if (settings.view === "dimension") startCollapse(true); },
};

function changed(name) {
  (CHANGES[name] || (() => run.changed()))();
  refresh();
}

function penIsOut() {
  return settings.target === "drawn" && $("#pen").checked;
}

/** The controls as the settings have them. */
function refresh() {
  moveSliders();
  for (const side of [0, 1]) {
    const method = run.methods[side];
    $$("#plane .head select")[side].value = method;
    $$("#plane .about")[side].textContent = METHODS[method].about;
    $$("#plane .panel")[side].style.setProperty("--side", `var(--${method})`);
    canvases[side].setAttribute("aria-label", `${METHODS[method].name}: a cloud of particles. `
      + "Arrow keys move the chosen one, brackets choose another, Enter adds one.");
  }
  $("#target").value = settings.target;
  $("#start").value = settings.start;
  $(`input[name="rule"][value="${settings.rule}"]`).checked = true;
  const fixed = run.methods.some((method) => bandwidthFor(method, settings) !== "median");
  $("fieldset").classList.toggle("idle", !fixed);
  $(".seed output").textContent = settings.seed;
  $("#drawing").hidden = settings.target !== "drawn";
  canvases.forEach((canvas) => canvas.classList.toggle("drawing", penIsOut()));
  $("#hint").textContent = (penIsOut()
    ? "Draw on a cloud: the ink is the density. Without the pen you place and drag particles."
    : "Click or tap to add a particle, drag one to move it.")
    + " The arrows are the forces on the chosen one:";
  for (const button of $$("nav [data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === settings.view));
  }
  for (const lede of $$(".lede")) lede.hidden = lede.dataset.for !== settings.view;
  $("#plane").hidden = settings.view !== "plane";
  $("#dimension").hidden = settings.view !== "dimension";
  $$("#dimension .panel").forEach((panel, n) =>
    panel.style.setProperty("--side", `var(--${["svgd", "spos"][n]})`));
  page.dirty = true;
  page.stored = 0;
}

function applyTheme() {
  const dark = settings.theme === "auto"
    ? matchMedia("(prefers-color-scheme: dark)").matches : settings.theme === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("#theme").textContent = dark ? "Light" : "Dark";
  page.colours = readColours();
  page.backdrop = null;
  page.dirty = true;
}

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
  page.backdrop = null;
  applyTheme();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  play(at === undefined && !still);
  if (clouds && at > 0) {
    run.setClouds(clouds, at);
    run.touched = true;
  } else if (clouds) {
    run.startFrom(clouds[0]);
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
    button.textContent = "Link copied";
  } catch {
    button.textContent = "Link is in the address bar";
  }
  setTimeout(() => { button.textContent = "Share"; }, 2000);
}
