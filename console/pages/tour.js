// The first page of a fresh local stack: a tour of six steps through the recorded day.
import { button, el, fill } from "../dom.js";
import { card } from "../parts.js";
import { words } from "../words.js";

const LOOK_MS = 1_000;
const said = words.pages.tour;

async function show(main, _args, { tour }) {
  const place = el("div", { class: "stack" });
  let timer = null;
  const look = async () => {
    await tour.load();
    fill(place, stateOf(tour));
    if (tour.state !== "playing") return;
    timer = setTimeout(() => look().catch(console.error), LOOK_MS);
  };
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), place,
    card(said.yourself, el("ul", { class: "plain" },
      el("li", {}, el("a", { href: "#/phone" }, said.phone), " ", said.phoneAbout),
      el("li", {}, said.model))));
  await look();
  return () => clearTimeout(timer);
}

function stateOf(tour) {
  if (tour.state !== "ready") return el("p", { class: "notice", role: "status" }, said.states[tour.state]);
  return card(said.steps,
    el("ol", { class: "tour-steps" }, tour.steps.map((step, index) => el("li", {},
      button(step.title, () => tour.go(index), { class: "link" })))),
    button(said.start, () => tour.go(0), { class: "primary" }));
}

export default { name: "tour", needs: "local", show };
