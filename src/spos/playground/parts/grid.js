/* A target on a grid over its window: its mass, its modes, its variance and draws from it.

   Modes: cells are visited from the highest density down. A cell without a visited neighbour is a
   new peak, any other joins its highest neighbour. Where two peaks meet, the lower one is a mode of
   its own only if the density falls by a factor e (`DEPTH`) on the way to it and 1 % of the mass
   has come together around it; else the two are one. */

const CELLS = 144;
const DEPTH = 1;
const LEAST_MASS = 0.01;

function gridOf(target) {
  const grid = logsOf(target);
  const mass = grid.logs.map((value) => Math.exp(value - grid.top));
  const total = mass.reduce((sum, value) => sum + value, 0);
  for (let n = 0; n < mass.length; n++) mass[n] /= total;
  return { ...grid, mass, ...modesOf({ ...grid, mass }) };
}

/** The log-density in every cell and its largest value: enough for a picture. */
function logsOf(target) {
  const [cx, cy, half] = target.window;
  const cell = (2 * half) / CELLS;
  const gradient = new Float64Array(2);
  const logs = new Float64Array(CELLS * CELLS);
  for (let row = 0, n = 0; row < CELLS; row++) {
    for (let column = 0; column < CELLS; column++, n++) {
      logs[n] = target.evaluate(
        cx - half + (column + 0.5) * cell, cy - half + (row + 0.5) * cell, gradient);
    }
  }
  const top = logs.reduce((most, value) => Math.max(most, value), -Infinity);
  return { window: target.window, cell, logs, top };
}

/** The label of every cell, and the modes' peaks and shares, from left to right. */
function modesOf({ window: [cx, cy, half], cell, logs, mass }) {
  const order = Int32Array.from(logs.keys()).sort((a, b) => logs[b] - logs[a]);
  const joined = []; // for each peak the peak it belongs to, itself for a mode
  const peaks = [];
  const gathered = [];
  const label = new Int32Array(logs.length).fill(-1);
  const root = (peak) => (joined[peak] === peak ? peak : root(joined[peak]));
  for (const n of order) {
    const near = neighbours(n).filter((m) => label[m] >= 0);
    if (near.length === 0) {
      label[n] = peaks.length;
      joined.push(peaks.length);
      peaks.push(n);
      gathered.push(0);
    } else {
      near.sort((a, b) => logs[b] - logs[a]);
      label[n] = root(label[near[0]]);
      for (const m of near) {
        const [a, b] = [root(label[n]), root(label[m])];
        if (a === b) continue;
        const [high, low] = logs[peaks[a]] >= logs[peaks[b]] ? [a, b] : [b, a];
        if (logs[peaks[low]] - logs[n] < DEPTH || gathered[low] < LEAST_MASS) {
          joined[low] = high;
          gathered[high] += gathered[low];
        }
      }
    }
    gathered[root(label[n])] += mass[n];
  }
  const place = (n) => [cx - half + ((n % CELLS) + 0.5) * cell,
    cy - half + (Math.floor(n / CELLS) + 0.5) * cell];
  const found = joined.flatMap((peak, n) => (peak === n ? [n] : []));
  found.sort((a, b) => place(peaks[a])[0] - place(peaks[b])[0]);
  const modes = found.map((peak) => ({ at: place(peaks[peak]), share: gathered[peak] }));
  return { modes, label: label.map((peak) => found.indexOf(root(peak))) };
}

function neighbours(n) {
  const [column, row] = [n % CELLS, Math.floor(n / CELLS)];
  const near = [];
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) {
      const [x, y] = [column + dx, row + dy];
      if ((dx || dy) && x >= 0 && y >= 0 && x < CELLS && y < CELLS) near.push(y * CELLS + x);
    }
  }
  return near;
}

/** The mode that a point belongs to. */
function modeAt(grid, x, y) {
  const [cx, cy, half] = grid.window;
  const index = (z, centre) =>
    Math.max(0, Math.min(CELLS - 1, Math.floor((z - centre + half) / grid.cell)));
  return grid.label[index(y, cy) * CELLS + index(x, cx)];
}

/** The variance of a coordinate, the mean of both. */
function gridVariance({ window: [, , half], cell, mass }) {
  let [x, y, squares] = [0, 0, 0];
  mass.forEach((share, n) => {
    const [px, py] = [((n % CELLS) + 0.5) * cell - half,
      (Math.floor(n / CELLS) + 0.5) * cell - half];
    x += share * px;
    y += share * py;
    squares += share * (px * px + py * py);
  });
  return (squares - x * x - y * y) / 2;
}

/** A function that draws from the cells, evenly within each. */
function gridDraw({ window: [cx, cy, half], cell, mass }) {
  const sums = Float64Array.from(mass);
  for (let n = 1; n < sums.length; n++) sums[n] += sums[n - 1];
  return (_, uniform) => {
    const wanted = uniform() * sums[sums.length - 1];
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return [cx - half + ((low % CELLS) + uniform()) * cell,
      cy - half + (Math.floor(low / CELLS) + uniform()) * cell];
  };
}
