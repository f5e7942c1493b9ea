/* The small charts under the clouds: a curve for each side against the truth, and shares as bars.
   The left side is a full line, the right one dashed, so that colour is not all that tells them. */

const PAD = { left: 6, right: 6, top: 8, bottom: 6 };

/** Curves of one measure over the steps, with a line for the truth. */
function paintCurves(canvas, curves, key, truth, sideColours, colours) {
  const { context, width, height } = fitted(canvas);
  const values = curves.flatMap((seen) => seen.sides.map((side) => side[key]));
  const top = 1.12 * Math.max(...values.filter(Number.isFinite), truth, 1e-9);
  const first = curves[0].number;
  const span = Math.max(curves[curves.length - 1].number - first, 1);
  const x = (step) => PAD.left + ((width - PAD.left - PAD.right) * (step - first)) / span;
  const y = (value) => height - PAD.bottom - ((height - PAD.top - PAD.bottom) * value) / top;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(PAD.left, y(0));
  context.lineTo(width - PAD.right, y(0));
  context.stroke();
  context.strokeStyle = colours.soft;
  context.setLineDash([1, 4]);
  context.lineCap = "round";
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(PAD.left, y(truth));
  context.lineTo(width - PAD.right, y(truth));
  context.stroke();
  sideColours.forEach((colour, side) => {
    context.setLineDash(side ? [7, 4] : []);
    context.lineCap = "butt";
    context.lineJoin = "round";
    context.strokeStyle = colour;
    context.lineWidth = 2.2;
    context.beginPath();
    curves.forEach((seen) => context.lineTo(x(seen.number), y(seen.sides[side][key])));
    context.stroke();
    context.setLineDash([]);
    const now = curves[curves.length - 1];
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x(now.number), y(now.sides[side][key]), 3.2, 0, 2 * Math.PI);
    context.fill();
  });
}

/** For each mode its true share as a box, and both sides' as bars in it. */
function paintBars(canvas, seen, sideColours, colours) {
  const { context, width, height } = fitted(canvas);
  const count = seen.shares.length;
  const all = [seen.shares, ...seen.sides.map((side) => side.shares)];
  const top = Math.max(...all.flat(), 0.01);
  const [floor, high] = [height - 18, height - 26];
  const slot = width / count;
  const bar = Math.min(26, slot / 3.2);
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  seen.shares.forEach((share, n) => {
    const middle = (n + 0.5) * slot;
    seen.sides.forEach((side, s) => {
      const tall = (high * side.shares[n]) / top;
      context.fillStyle = sideColours[s];
      context.beginPath();
      context.roundRect(middle + (s ? 1.5 : -bar - 1.5), floor - tall, bar, tall, [3, 3, 0, 0]);
      context.fill();
    });
    const level = floor - (high * share) / top;
    context.strokeStyle = colours.soft;
    context.lineWidth = 2;
    context.lineCap = "round";
    context.setLineDash([1, 4]);
    context.beginPath();
    context.moveTo(middle - bar - 8, level);
    context.lineTo(middle + bar + 8, level);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colours.soft;
    context.fillText(percent(share), middle, height - 4);
  });
  context.fillStyle = colours.line;
  context.fillRect(0, floor, width, 1);
}
