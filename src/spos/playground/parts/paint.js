/* Drawing: a canvas that is as sharp as its screen, and the picture of a cloud on its target.

   The arrows show how far each force alone would carry the chosen particle in the time τ: τ times a
   force, and sqrt(τ) times the noise of a unit of time, which does not depend on the step. */

const ARROW_TIME = 0.4;
const ARROW_REACH = 0.62; // no arrow is longer than this share of half the window
const ARROWS = [
  { key: "own", name: "own score" },
  { key: "others", name: "others’ scores" },
  { key: "push", name: "repulsion" },
  { key: "jump", name: "noise" },
];

/** The colours of the theme, from the style sheet. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "soft", "line", "panel", "shade", "contour",
    ...ARROWS.map(({ key }) => key), ...Object.keys(METHODS)];
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}

/** The canvas' context in CSS pixels, after fitting it to its place on the page, empty. */
function fitted(canvas) {
  const found = uncleared(canvas);
  found.context.clearRect(0, 0, found.width, found.height);
  return found;
}

/** The same, with whatever is on it. */
function uncleared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

/** From the plane to pixels of a square canvas, and back. */
function scaleOf([cx, cy, half], width) {
  const unit = width / (2 * half);
  return {
    unit,
    left: half - cx, // so that a pixel is (x + left, top - y) units
    top: cy + half,
    pixel: (x, y) => [(x - cx + half) * unit, (cy + half - y) * unit],
    plane: (px, py) => [px / unit + cx - half, cy + half - py / unit],
  };
}

/** Red, green and blue of #rrggbb. */
function channels(colour) {
  return colour.match(/\w\w/g).slice(0, 3).map((pair) => parseInt(pair, 16));
}

/** The density as an image of one pixel a cell. */
function densityImage(grid, colour) {
  const canvas = Object.assign(document.createElement("canvas"), { width: CELLS, height: CELLS });
  const context = canvas.getContext("2d");
  const image = context.createImageData(CELLS, CELLS);
  const [r, g, b] = channels(colour);
  for (let n = 0; n < grid.logs.length; n++) {
    const row = CELLS - 1 - Math.floor(n / CELLS);
    const place = 4 * (row * CELLS + (n % CELLS));
    // the root of the density, so that a wide and a narrow part can both be seen
    const shade = Math.exp(0.5 * (grid.logs[n] - grid.top));
    image.data.set([r, g, b, Math.round(235 * shade)], place);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** What lies behind the particles, as sharp as the screen and ready for them; made once for a
    target, size and theme. `grid` has its mass where contours are wanted. */
function backdrop(grid, width, colours) {
  const ratio = window.devicePixelRatio || 1;
  const side = Math.max(1, Math.round(width * ratio));
  const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const context = canvas.getContext("2d");
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, side, side);
  context.imageSmoothingQuality = "high";
  context.drawImage(densityImage(grid, colours.shade), 0, 0, side, side);
  context.strokeStyle = colours.contour;
  context.lineWidth = ratio;
  const levels = grid.mass ? levelsOf(grid) : [];
  levels.forEach((level) => context.stroke(contour(grid, level, side)));
  return new Pixels(canvas);
}

/** Fading lines behind the particles. */
function paintTrails(pixels, trail, { unit, left, top }, ratio, colour) {
  const ink = channels(colour);
  const scale = unit * ratio;
  for (let age = trail.length - 1; age > 0; age--) {
    const [now, then] = [trail[age - 1], trail[age]];
    if (now.length !== then.length) continue;
    const alpha = 0.45 * (1 - age / TRAIL);
    for (let n = 0; n < now.length; n += 2) {
      pixels.line((then[n] + left) * scale, (top - then[n + 1]) * scale,
        (now[n] + left) * scale, (top - now[n + 1]) * scale, ratio, ink, alpha);
    }
  }
}

/** Discs, as copies of one image. */
function paintParticles(pixels, theta, { unit, left, top }, ratio, image) {
  const scale = unit * ratio;
  for (let n = 0; n < theta.length; n += 2) {
    pixels.stamp(image, (theta[n] + left) * scale, (top - theta[n + 1]) * scale);
  }
}

const discs = new Map();

/** The image of one particle. */
function disc(radius, colour, rim) {
  const ratio = window.devicePixelRatio || 1;
  const key = [radius, colour, rim, ratio].join();
  if (!discs.has(key)) {
    const width = Math.ceil(2 * (radius + 2) * ratio);
    const canvas = Object.assign(document.createElement("canvas"), { width, height: width });
    const context = canvas.getContext("2d");
    context.fillStyle = colour;
    context.strokeStyle = rim;
    context.lineWidth = ratio;
    context.arc(width / 2, width / 2, radius * ratio, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    const { data } = context.getImageData(0, 0, width, width);
    discs.set(key, { data, words: new Uint32Array(data.buffer), width });
  }
  return discs.get(key);
}

function particleRadius(width, count) {
  const most = width < 250 ? 2.4 : 4.2;
  return Math.max(1.6, most * Math.min(1, (150 / count) ** 0.25));
}

/** One side of the run, all of it. */
function paintSide(canvas, run, side, pixels, colours) {
  const { context, width } = uncleared(canvas); // all of it will be put there
  const ratio = pixels.side / width;
  const { theta, trail, lost } = run.sides[side];
  const colour = colours[run.methods[side]];
  const scale = scaleOf(run.target.window, width);
  const radius = particleRadius(width, run.count);
  pixels.clear();
  paintTrails(pixels, trail, scale, ratio, colour);
  paintParticles(pixels, theta, scale, ratio, disc(radius, colour, colours.panel));
  context.putImageData(pixels.image, 0, 0);
  paintShares(context, run, side, scale, width, colours);
  if (!lost) paintForces(context, run, side, scale, radius, colours);
  else paintNotice(context, "The step is too large: the cloud has flown apart.", width, colours);
}

/** The share of each mode, above it, if there are several. */
function paintShares(context, run, side, scale, width, colours) {
  const { modes } = run.truth.grid;
  if (modes.length < 2 || width < 220) return;
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const shares = run.seen.sides[side].shares.map(percent);
  const tags = (texts) => texts.map((text, n) => {
    const [x, y] = scale.pixel(...modes[n].at);
    const wide = context.measureText(text).width + 12;
    return {
      text, wide,
      x: Math.max(wide / 2 + 2, Math.min(width - wide / 2 - 2, x)),
      y: y > 70 ? y - 1.25 * scale.unit : y + 1.25 * scale.unit,
    };
  });
  const long = tags(modes.map((mode, n) => `${shares[n]}, truth ${percent(mode.share)}`));
  const crowded = long.some((a, n) => long.slice(0, n).some((b) =>
    Math.abs(a.x - b.x) < (a.wide + b.wide) / 2 && Math.abs(a.y - b.y) < 20));
  for (const { text, wide, x, y } of crowded ? tags(shares) : long) {
    context.fillStyle = colours.panel;
    context.globalAlpha = 0.85;
    context.beginPath();
    context.roundRect(x - wide / 2, y - 10, wide, 20, 10);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = colours.ink;
    context.fillText(text, x, y);
  }
}

function paintForces(context, run, side, { pixel, unit }, radius, colours) {
  const { theta } = run.sides[side];
  const at = 2 * run.chosen;
  const [x, y] = pixel(theta[at], theta[at + 1]);
  const prepared = run.prepared(side);
  const longest = ARROW_REACH * run.target.window[2] * unit;
  for (const { key } of ARROWS) {
    if (!prepared[key]) continue;
    const time = (key === "jump" ? Math.sqrt(ARROW_TIME) : ARROW_TIME) * unit;
    paintArrow(context, x, y, time * prepared[key][at], -time * prepared[key][at + 1], longest,
      colours[key], colours.panel, key === "jump");
  }
  context.beginPath();
  context.arc(x, y, radius + 2.5, 0, 2 * Math.PI);
  context.lineWidth = 2.5;
  context.strokeStyle = colours.ink;
  context.stroke();
}

function paintArrow(context, x, y, dx, dy, longest, colour, rim, dotted) {
  const length = Math.hypot(dx, dy);
  if (!(length > 3)) return;
  const drawn = longest * Math.tanh(length / longest);
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(9, drawn);
  const [tipX, tipY] = [x + drawn * ux, y + drawn * uy];
  const stem = [tipX - 0.8 * head * ux, tipY - 0.8 * head * uy];
  const line = () => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...stem);
    context.stroke();
  };
  const tip = () => {
    context.beginPath();
    context.moveTo(tipX, tipY);
    context.lineTo(tipX - head * ux - 0.55 * head * uy, tipY - head * uy + 0.55 * head * ux);
    context.lineTo(tipX - head * ux + 0.55 * head * uy, tipY - head * uy - 0.55 * head * ux);
    context.closePath();
  };
  context.lineCap = "round";
  context.lineJoin = "round";
  context.strokeStyle = rim;
  context.lineWidth = 5.5;
  line();
  tip();
  context.lineWidth = 3;
  context.stroke();
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 3;
  context.setLineDash(dotted ? [0.5, 5] : []);
  line();
  context.setLineDash([]);
  tip();
  context.fill();
}

function paintNotice(context, text, width, colours) {
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.9;
  context.fillRect(0, width / 2 - 24, width, 48);
  context.globalAlpha = 1;
  context.fillStyle = colours.ink;
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, width / 2, width / 2, width - 16);
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}

/** A number as one reads it: three digits that count. */
function short(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 4));
}
