/* Mouse, finger and keys. A press on a particle takes it, a press elsewhere places one (or draws,
   with the pen). The run waits while a particle is held. On a phone a finger that hits no particle
   scrolls the page, as everywhere. */

const GRASP = { mouse: 10, touch: 16 }; // pixels around a particle that count as it

function bindPointers() {
  canvases.forEach((canvas, side) => {
    let held = null; // { kind, from, resume }
    const where = (event) => {
      const box = canvas.getBoundingClientRect();
      const scale = scaleOf(run.target.window, canvas.clientWidth);
      return scale.plane(event.clientX - box.left - canvas.clientLeft,
        event.clientY - box.top - canvas.clientTop);
    };

    canvas.addEventListener("touchstart", (event) => {
      const hit = nearest(side, where(event.touches[0]), reach("touch", canvas));
      if (penIsOut() || hit !== null) event.preventDefault();
    }, { passive: false });

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const at = where(event);
      const index = penIsOut() ? null : nearest(side, at, reach(event.pointerType, canvas));
      const kind = penIsOut() ? "pen" : index === null ? "place" : "drag";
      held = { kind, from: at, start: [event.clientX, event.clientY], resume: page.playing };
      if (kind === "drag") {
        run.chosen = index;
        page.playing = false;
      }
      if (kind === "pen") {
        run.draw([inkPoint(...at)]);
        roughBackdrop();
      }
      if (kind !== "place") canvas.setPointerCapture(event.pointerId);
      page.dirty = true;
    });

    canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      const at = where(event);
      if (held.kind === "drag") run.move(run.chosen, ...at);
      if (held.kind === "pen") {
        const points = strokePoints(held.from, at);
        if (points.length === 0) return;
        run.draw(points);
        held.from = at;
        roughBackdrop();
      }
      page.dirty = true;
    });

    canvas.addEventListener("pointerup", (event) => {
      if (!held) return;
      const [x, y] = held.start;
      const still = Math.hypot(event.clientX - x, event.clientY - y) < 6;
      if (held.kind === "place" && still) run.place(...where(event));
      finish();
    });
    canvas.addEventListener("pointercancel", () => { if (held) finish(); });

    function finish() {
      if (held.kind === "pen") {
        run.finishDrawing();
        page.rough = page.backdrop = null;
      }
      page.playing = held.resume;
      held = null;
      refresh();
    }
  });
}

/** The shading of a drawing that is not finished: without contours, which take longer. */
function roughBackdrop() {
  page.rough = logsOf(run.target);
  page.backdrop = null;
}

function reach(pointer, canvas) {
  const pixels = pointer === "touch" ? GRASP.touch : GRASP.mouse;
  return (pixels * 2 * run.target.window[2]) / canvas.clientWidth;
}

/** The particle of a side that is nearest to a place, or null if none is within reach. */
function nearest(side, [x, y], within) {
  const { theta } = run.sides[side];
  let [found, best] = [null, within];
  for (let i = 0; i < theta.length / 2; i++) {
    const far = Math.hypot(theta[2 * i] - x, theta[2 * i + 1] - y);
    if (far < best) [found, best] = [i, far];
  }
  return found;
}

function bindKeys() {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY)$/.test(event.target.tagName);
    const side = canvases.indexOf(event.target);
    const key = event.key;
    if (settings.view !== "plane") return;
    if (key === " " && !typing) play(!page.playing);
    else if (key === "." && event.target.tagName !== "SELECT") stepOnce();
    else if (key.toLowerCase() === "r" && event.target.tagName !== "SELECT") reset();
    else if (key.toLowerCase() === "n" && event.target.tagName !== "SELECT") anotherSeed();
    else if (key === "]" || key === "[") {
      run.chosen = (run.chosen + (key === "]" ? 1 : run.count - 1)) % run.count;
    } else if (side >= 0 && (step[key] || key === "Enter")) {
      const { theta } = run.sides[side];
      const unit = run.target.window[2] / 40;
      const [dx, dy] = step[key] || [2, 2];
      const at = [theta[2 * run.chosen] + dx * unit, theta[2 * run.chosen + 1] + dy * unit];
      if (key === "Enter") run.place(...at);
      else run.move(run.chosen, ...at);
      refresh();
    } else return;
    page.dirty = true;
    event.preventDefault();
  });
}
