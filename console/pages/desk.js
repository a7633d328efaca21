// The desk: the queue of cases, the case that is open, and its people, side by side.
import { showApproval } from "../approvals.js";
import { showAnswers } from "../desk/answers.js";
import { DeskCase } from "../desk/case.js";
import { following } from "../desk/following.js";
import { DeskKeys } from "../desk/keys.js";
import { Queue } from "../desk/queue.js";
import { el, fill } from "../dom.js";
import { part } from "../parts.js";
import { words } from "../words.js";

const APPROVALS = "approvals", ANSWERS = "answers"; // in place of a chat's id
const said = words.pages.desk;

async function show(main, [first, id], context) {
  const queue = new Queue(context, address(first, id));
  const places = { heading: el("h1", { tabindex: -1 }, said.name), middle: el("section", { class: "detail", "aria-label": said.middle }), side: el("section", { class: "stack", "aria-label": said.side }) };
  const opened = first === undefined || first === APPROVALS || first === ANSWERS ? null : new DeskCase(context, first, places);
  const keys = new DeskKeys({
    j: () => queue.move(1),
    k: () => queue.move(-1),
    t: () => opened?.takeOver(),
    r: () => opened?.reply(),
    h: () => opened?.handBack(),
    "/": () => opened?.chooseAnswer(),
    Escape: () => places.heading.focus(),
  });
  await queue.look();
  fill(main, el("p", { class: "back" }, first === undefined ? null : el("a", { href: "#/desk" }, said.back)), places.heading,
    el("div", { class: `desk ${first === undefined ? "" : "has-detail"}` },
      el("section", { class: "master", "aria-label": said.cases }, queue.root,
        el("p", {}, el("a", { href: "#/desk/answers" }, said.answers.title)), el("div", {}, keys.button),
        el("p", { class: "hint" }, said.others, " ", el("a", { href: "#/transcripts" }, said.toChats))),
      places.middle, places.side),
    keys.dialog);
  if (first === undefined) fill(places.middle, el("p", { class: "about" }, said.about));
  else if (first === APPROVALS) await showApproval(places, context, id);
  else if (first === ANSWERS) await showAnswers(places.middle, context);
  else await opened.start();
  keys.start();
  const end = following(() => queue.look());
  return () => {
    end();
    keys.stop();
    opened?.stop();
  };
}

function address(first, id) { return id === undefined ? `#/desk/${part(first ?? "")}` : `#/desk/${part(first)}/${part(id)}`; }

export default { name: "desk", needs: "support", show };
