/* Lines around the smallest regions that hold 50 % and 95 % of a target's mass.

   Marching squares: in each square between four cell centres the line crosses the sides whose ends
   lie on both sides of the level, where the log-density, taken as linear along a side, has it. */

const HELD = [0.5, 0.95];
const BELOW = 0.02; // a line drawn right on a ridge of constant height would fall to pieces

/** The log-densities at the edges of those regions. */
function levelsOf({ logs, mass }) {
  const order = Int32Array.from(logs.keys()).sort((a, b) => logs[b] - logs[a]);
  const levels = [];
  let held = 0;
  for (const n of order) {
    held += mass[n];
    if (held >= HELD[levels.length]) levels.push(logs[n] - BELOW);
  }
  return levels;
}

/** A path on a canvas of `width` pixels. */
function contour({ logs }, level, width) {
  const path = new Path2D();
  const unit = width / CELLS;
  for (let row = 0; row + 1 < CELLS; row++) {
    for (let column = 0; column + 1 < CELLS; column++) {
      const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
      const heights = corners.map(([x, y]) => logs[y * CELLS + x] - level);
      const ends = [];
      for (let side = 0; side < 4; side++) {
        const [a, b] = [heights[side], heights[(side + 1) % 4]];
        if (a > 0 === b > 0) continue;
        const [from, to] = [corners[side], corners[(side + 1) % 4]];
        const share = a / (a - b);
        ends.push([from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]);
      }
      for (let n = 0; n + 1 < ends.length; n += 2) {
        path.moveTo((ends[n][0] + 0.5) * unit, (CELLS - ends[n][1] - 0.5) * unit);
        path.lineTo((ends[n + 1][0] + 0.5) * unit, (CELLS - ends[n + 1][1] - 0.5) * unit);
      }
    }
  }
  return path;
}
