// The difference of two texts, line by line.
import { el } from "./dom.js";
import { words } from "./words.js";

const MOST_LINES = 1_000; // of one text; longer ones are compared as a whole
const AROUND = 2; // equal lines that are shown beside a change
const said = words.diff;

/** Return the lines of two texts as `[sign, line]`; the sign is "-", "+" or " ". */
export function changesOf(before, after) {
  const old = before.split("\n"), now = after.split("\n");
  if (old.length > MOST_LINES || now.length > MOST_LINES) {
    return [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
  }
  // The length of the longest common part of what follows each pair of lines.
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i][j] = old[i] === now[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const changes = [];
  let i = 0, j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      changes.push([" ", old[i]]);
      i += 1;
      j += 1;
    } else if (j === now.length || (i < old.length && common[i + 1][j] >= common[i][j + 1])) {
      changes.push(["-", old[i]]);
      i += 1;
    } else {
      changes.push(["+", now[j]]);
      j += 1;
    }
  }
  return changes;
}

/** Show the difference of two texts, with some equal lines beside each change. */
export function difference(before, after) {
  if (before === after) return el("p", { class: "empty" }, said.same);
  const changes = changesOf(before, after);
  const near = changes.map((_, place) =>
    changes.slice(Math.max(0, place - AROUND), place + AROUND + 1).some(([sign]) => sign !== " "));
  const rows = [];
  changes.forEach(([sign, line], place) => {
    if (near[place]) rows.push(row(sign, line));
    else if (near[place - 1] || place === 0) rows.push(el("li", { class: "gap" }, said.equal));
  });
  return el("ol", { class: "diff", "aria-label": said.lines }, rows);
}

function row(sign, line) {
  if (sign === "+") return el("li", { class: "added" }, el("ins", {}, el("span", { class: "hidden" }, said.added), line));
  if (sign === "-") return el("li", { class: "removed" }, el("del", {}, el("span", { class: "hidden" }, said.removed), line));
  return el("li", {}, line);
}
