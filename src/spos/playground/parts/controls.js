/* Sliders, lists and buttons: they read and write the settings, and say what changed. */

const SLIDER_ENDS = 1000; // a slider on a log scale goes from 0 to this

/** The value at a slider's place, rounded to what is shown; and the place of a value. */
const SCALES = {
  log: {
    value({ low, high }, place) {
      const exact = low * (high / low) ** (place / SLIDER_ENDS);
      return Math.max(low, Math.min(high, Number(exact.toPrecision(2))));
    },
    place: ({ low, high }, value) =>
      Math.round((SLIDER_ENDS * Math.log(value / low)) / Math.log(high / low)),
  },
  linear: { value: (_, place) => place, place: (_, value) => value },
};

const stepsASecond = (speed) => 60 * 2 ** speed;
const SHOWN = { speed: (speed) => `${stepsASecond(speed)} steps a second` };

/** All sliders, by the field in their name; `changed(name)` is called when one is moved. */
function bindSliders(settings, changed) {
  const sliders = [...document.querySelectorAll('input[type="range"]')].map((input) => {
    const name = input.dataset.field || input.id;
    const field = FIELDS[name];
    const scale = SCALES[input.dataset.scale || "linear"];
    const [min, max] = scale === SCALES.log ? [0, SLIDER_ENDS] : [field.low, field.high];
    Object.assign(input, { min, max, step: 1 });
    input.addEventListener("input", () => {
      const value = scale.value(field, Number(input.value));
      settings[name] = field.whole ? Math.round(value) : value;
      changed(name);
    });
    return { input, name, field, scale };
  });
  /** Bring the sliders to what the settings say. */
  return () => {
    for (const { input, name, field, scale } of sliders) {
      const text = (SHOWN[name] || String)(settings[name]);
      const place = scale.place(field, settings[name]);
      // a slider that is being dragged stays where the hand is
      if (scale.value(field, Number(input.value)) !== settings[name]) input.value = place;
      input.setAttribute("aria-valuetext", text);
      input.parentElement.querySelector("output").textContent = text;
    }
  };
}

function fillSelect(select, options) {
  for (const [value, text] of Object.entries(options)) select.add(new Option(text, value));
}

/** The run in words, for those who do not see the pictures and for all others. */
function describe(run) {
  const { seen, settings } = run;
  const several = seen.shares.length > 1;
  const facts = ({ variance, shares, distance }) => `variance ${short(variance)}, `
    + (several ? `shares of ${shares.map(percent).join(", ")} in the modes, ` : "")
    + `distance ${short(distance)}`;
  const sides = seen.sides.map((side, n) => {
    const method = METHODS[run.methods[n]].name;
    return run.sides[n].lost
      ? `${method} has flown apart, for the step is too large` : `${method} has ${facts(side)}`;
  });
  const truth = facts({ ...seen, distance: seen.floor });
  return `After ${seen.number} steps of ${settings.step} with ${run.count} particles on “`
    + `${run.target.name}”: ${sides.join("; ")}. As many exact draws have ${truth}.`;
}

function describeCollapse(collapse) {
  const { svgd, spos } = collapse.variances;
  const moving = collapse.done ? "" : ` after ${collapse.number} of ${SETTLED} steps`;
  return `In ${collapse.dimension} dimensions${moving}, SVGD keeps ${percent(svgd)} of the `
    + `variance; SPOS (β = ${collapse.beta}) keeps ${percent(spos)}.`;
}
