/* How the second view looks and moves: the clouds' first two coordinates, and variance against
   dimension, which fills in while the reader looks. */

/** The first two coordinates, with the circle that holds 95 % of the truth. */
function paintShadow(canvas, theta, size, colour, colours) {
  const { context, width } = fitted(canvas);
  const scale = scaleOf([0, 0, 3.4], width);
  const [x, y] = scale.pixel(0, 0);
  const radius = Math.sqrt(-2 * Math.log(0.05)) * scale.unit;
  const glow = context.createRadialGradient(x, y, 0, x, y, radius);
  for (let n = 0; n <= 8; n++) {
    const alpha = Math.round(215 * Math.exp(-0.25 * ((n / 8) * 2.45) ** 2) * (1 - (n / 8) ** 4));
    glow.addColorStop(n / 8, `${colours.shade}${alpha.toString(16).padStart(2, "0")}`);
  }
  context.fillStyle = glow;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
  context.strokeStyle = colours.soft;
  context.setLineDash([1, 5]);
  context.lineCap = "round";
  context.lineWidth = 2;
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour;
  context.strokeStyle = colours.panel;
  context.lineWidth = 1;
  for (let i = 0; i < CLOUD; i++) {
    context.beginPath();
    context.arc(...scale.pixel(theta[i * size], theta[i * size + 1]), width < 250 ? 3 : 4.5,
      0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

/** Variance against dimension: what is known so far, and the dimension that is looked at. */
function paintTrack(canvas, known, now, colours) {
  const { context, width, height } = fitted(canvas);
  const box = { left: 44, right: width - 74, top: 14, bottom: height - 40 };
  const [low, high] = [Math.log(2), Math.log(200)];
  const x = (d) => box.left + ((box.right - box.left) * (Math.log(d) - low)) / (high - low);
  const y = (v) => box.bottom - ((box.bottom - box.top) * v) / 1.2;
  context.font = "13px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    context.fillStyle = colours.line;
    context.fillRect(box.left, y(value), box.right - box.left, 1);
    context.fillStyle = colours.soft;
    context.textAlign = "right";
    context.fillText(String(value), box.left - 8, y(value));
  }
  context.textAlign = "center";
  for (const d of [2, 5, 10, 20, 50, 100, 200]) context.fillText(String(d), x(d), box.bottom + 14);
  context.fillText("dimension", (box.left + box.right) / 2, height - 8);
  context.strokeStyle = colours.soft;
  context.setLineDash([1, 5]);
  context.lineCap = "round";
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(box.left, y(1));
  context.lineTo(box.right, y(1));
  context.stroke();
  context.setLineDash([3, 4]);
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(now.dimension), box.top);
  context.lineTo(x(now.dimension), box.bottom);
  context.stroke();
  context.setLineDash([]);
  const dimensions = [...known.keys()].sort((a, b) => a - b);
  for (const method of ["svgd", "spos"]) {
    context.strokeStyle = context.fillStyle = colours[method];
    context.lineWidth = 2.4;
    context.setLineDash(method === "spos" ? [7, 4] : []);
    context.lineCap = "butt";
    context.beginPath();
    dimensions.forEach((d) => context.lineTo(x(d), y(known.get(d)[method])));
    context.stroke();
    context.setLineDash([]);
    const value = now.variances[method];
    context.beginPath();
    context.arc(x(now.dimension), y(Math.min(value, 1.2)), 6, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = colours.panel;
    context.lineWidth = 2;
    context.stroke();
    context.textAlign = "left";
    context.font = "600 13px system-ui, sans-serif";
    const last = dimensions[dimensions.length - 1];
    const level = dimensions.length > 0 && last === 200 ? known.get(last)[method] : null;
    if (level !== null) context.fillText(METHODS[method].name, box.right + 10, y(level));
  }
}

function tickDimension() {
  const until = performance.now() + BUDGET;
  const { now } = dimension;
  do {
    if (!now.done) now.step();
    if (dimension.sweep) sweepStep();
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

/** Whether what is shown belongs to other settings. */
function outdated() {
  const { now } = dimension;
  return !now || now.beta !== settings.beta || now.seed !== settings.seed;
}

function startCollapse(forget) {
  if (forget) dimension.known.clear();
  dimension.now = new Collapse(settings.dimension, settings.beta, settings.seed);
  if (forget || !dimension.sweep) nextInSweep();
  page.dirty = true;
}
