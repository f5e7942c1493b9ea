/* The last file: controls are tied to actions, and the page opens as its address says. */

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
$("#clear").addEventListener("click", () => {
  run.ink = [];
  changed("target");
});
$(".controls").addEventListener("submit", (event) => event.preventDefault());
for (const button of $$("nav [data-view]")) {
  button.addEventListener("click", () => {
    settings.view = button.dataset.view;
    changed("view");
  });
}
$("#theme").addEventListener("click", () => {
  settings.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  changed("theme");
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
