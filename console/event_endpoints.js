// Event endpoints: services that are told what has happened, and the events that they did not take.
import { withQuery } from "./api.js";
import { el, field, fill } from "./dom.js";
import { action, card, facts, form, lazy, outcome, paged, part, when } from "./parts.js";
import { words } from "./words.js";

const said = words.endpoints;
const PATH = "/v1/event-endpoints";
const MOST = 100;

/** The card of a tenant's event endpoints. */
export async function endpointsCard(api) {
  const list = el("div", { class: "stack" });

  async function refresh() {
    const found = await api.items(PATH, MOST);
    fill(list, found.length === 0 ? el("p", { class: "empty" }, said.none) : found.map((each) => shown(api, each, refresh)));
  }
  await refresh();
  return card(said.title, el("p", { class: "hint" }, said.hint), list, lazy(said.add, () => newEndpoint(api, refresh)));
}

function shown(api, endpoint, refresh) {
  const path = `${PATH}/${part(endpoint.id)}`, place = outcome();
  const named = (text) => ({ "aria-label": said.of(text, endpoint.url) });

  async function turn() {
    await api.patch(path, { enabled: !endpoint.enabled });
    await refresh();
  }
  async function remove() {
    await api.delete(path);
    await refresh();
  }
  const turning = endpoint.enabled ? said.disable : said.enable;
  return el("section", {}, el("h3", {}, endpoint.url),
    facts([[said.types, endpoint.types.join(", ")], [said.words, endpoint.words ? said.withWords : said.withoutWords],
      [said.state, endpoint.enabled ? said.enabled : said.disabled]]),
    el("div", { class: "row" }, action(turning, turn, place, named(turning)),
      action(said.rotate, async () => secretOf(await api.post(`${path}/secret`)), place, named(said.rotate)),
      action(said.delete, remove, place, named(said.delete))),
    place, lazy(said.parked, () => parkedEvents(api, path)));
}

/** A secret, which the API tells only now. */
function secretOf({ secret }) { return [said.secretOnce, " ", el("code", {}, secret)]; }

// ---------------------------------------------------------------------- new endpoints

async function newEndpoint(api, refresh) {
  const document = await api.get("/openapi.json");
  const types = document.components.schemas.EventType.enum;
  const url = el("input", { type: "url", required: true, maxlength: 2000, autocomplete: "off", placeholder: "https://" });
  const boxes = types.map((type) => el("input", { type: "checkbox", value: type, id: `event-${type}` }));
  const withWords = el("input", { type: "checkbox", id: "event-words" });
  const secret = el("input", { autocomplete: "off", spellcheck: "false", maxlength: 100 });

  async function create() {
    const made = await api.post(PATH, {
      url: url.value.trim(), types: boxes.filter((box) => box.checked).map((box) => box.value), words: withWords.checked,
      secret: secret.value.trim() || null,
    });
    secret.value = "";
    await refresh();
    return secretOf(made);
  }
  return form([
    field(said.url, url),
    el("fieldset", {}, el("legend", {}, said.types),
      el("ul", { class: "checks" }, boxes.map((box) => el("li", {}, box, el("label", { for: box.id }, box.value))))),
    el("p", {}, withWords, " ", el("label", { for: withWords.id }, said.wordsToo)),
    field(said.secret, secret, said.secretHint),
  ], said.create, create);
}

// ---------------------------------------------------------------------- parked events

async function parkedEvents(api, path) {
  const place = outcome(), list = el("div", { class: "stack" });

  async function refresh() {
    fill(list, await paged(api, `${path}/parked`, row, said.noneParked));
  }
  async function send(id) {
    const { redelivered } = await api.post(withQuery(`${path}/redeliver`, { event_id: id }));
    await refresh();
    return said.redelivered(redelivered);
  }
  function row(event) {
    return [
      el("h4", {}, event.type, " ", when(event.at)),
      el("p", { class: "hint" }, said.failed(event.error)), el("pre", {}, JSON.stringify(event.data, null, 2)),
      action(said.redeliver, () => send(event.id), place, { "aria-label": said.of(said.redeliver, event.id) }),
    ];
  }
  await refresh();
  return [list, action(said.redeliverAll, () => send(null), place), place];
}
