// What a change of sharing rules or roles would do, before it is made.
import { el } from "../dom.js";
import { action, table } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.sharing.trial;

/**
 * A button that tells what a change would do; nothing is changed.
 *
 * @param {() => object|null} change The change for the API; null if the form is not complete.
 */
export function tryButton(api, change, label = said.try) {
  const place = el("div", { class: "stack", role: "status" });
  return el("div", { class: "stack" }, action(label, async () => {
    const wanted = change();
    return wanted === null ? said.incomplete : effectOf(await api.post("/v1/sharing/dry-run", wanted));
  }, place), place);
}

/** Whom a change would let be told of whom, as a table. */
function effectOf({ pairs, complete }) {
  return [
    pairs.length === 0 ? said.nothing : table(said.table, [said.author, said.reader, said.before, said.after], pairs.map((pair) => [
      pair.author_name || words.names.unnamed, pair.reader_name || words.names.unnamed, stateOf(pair.before), stateOf(pair.after),
    ])),
    complete ? null : el("p", { class: "hint" }, said.incompleteResult),
  ];
}

function stateOf({ tells, messages, talks }) {
  const earlier = messages === 0 ? said.noMessages : said.messages(messages, talks);
  return `${tells ? said.future : said.noFuture} ${earlier}`;
}
