// Fields for the values of settings, by their types; `read()` returns the value.
import { button, el, field, select } from "./dom.js";
import { modelPrices } from "./model_prices.js";
import { words } from "./words.js";

const CHANNELS = ["sms", "mms", "whatsapp"];
const LONG = 60; // characters of a text that takes more than a line
const said = words.pages.settings;
const OWN = { quiet_hours: timesOf, desk_hours: workingHours, prices };

/** The field of a setting, as the API describes it: `{ node, read }`. */
export function settingField(setting) {
  if (Object.hasOwn(OWN, setting.name)) return OWN[setting.name](setting.value);
  if (setting.choices.length > 0) return choice(setting, setting.choices.map((each) => [each, each]), (text) => text);
  if (setting.type === "boolean") return choice(setting, [["true", said.yes], ["false", said.no]], (text) => text === "true");
  if (setting.type === "integer" || setting.type === "number") return numeric(setting);
  const { value } = setting;
  if (setting.type === "array" && (value ?? []).every((each) => typeof each === "string") && setting.name !== "message_templates") return lines(setting);
  return setting.type === "string" ? text(setting) : json(setting);
}

function choice(setting, options, parse) {
  const control = select(options, String(setting.value ?? options[0][0]), () => {});
  return { node: field(said.value, control), read: () => parse(control.value) };
}

function numeric({ value, minimum, maximum, type }) {
  const control = el("input", { type: "number", required: true, min: minimum, max: maximum, step: type === "integer" ? 1 : "any", value: value ?? "" });
  const bounds = [minimum === null ? null : said.from(minimum), maximum === null ? null : said.to(maximum)].filter(Boolean).join(", ");
  return { node: field(said.value, control, bounds || null), read: () => Number(control.value) };
}

function text({ value }) {
  const long = (value ?? "").length > LONG;
  const control = el(long ? "textarea" : "input", { autocomplete: "off", required: true, ...(long ? { rows: 3 } : {}), value: value ?? "" });
  return { node: field(said.value, control), read: () => control.value.trim() };
}

function lines({ value }) {
  const control = el("textarea", { rows: 4, value: (value ?? []).join("\n") });
  return { node: field(said.value, control, said.onePerLine), read: () => control.value.split("\n").map((each) => each.trim()).filter(Boolean) };
}

function json({ value }) {
  const control = el("textarea", { rows: 6, spellcheck: "false", value: value === null ? "" : JSON.stringify(value, null, 2) });
  return { node: field(said.value, control, said.asJson), read: () => JSON.parse(control.value) };
}

// ---------------------------------------------------------------------- times

function timesOf(value) {
  const from = el("input", { type: "time", required: true, value: value?.from ?? "00:00" });
  const to = el("input", { type: "time", required: true, value: value?.to ?? "00:00" });
  return { node: el("div", { class: "row fields" }, field(said.begins, from), field(said.ends, to, said.equalTimes)), read: () => ({ from: from.value, to: to.value }) };
}

function workingHours(value) {
  const times = timesOf(value);
  const boxes = Object.keys(said.days).map((day) => el("input", { type: "checkbox", value: day, checked: (value?.days ?? []).includes(day) }));
  const zone = el("input", { required: true, autocomplete: "off", value: value?.time_zone ?? "UTC" });
  return {
    node: el("div", { class: "stack" },
      el("fieldset", {}, el("legend", {}, said.onDays),
        el("ul", { class: "checks" }, boxes.map((box) => el("li", {}, el("label", { class: "check" }, box, el("span", {}, said.days[box.value])))))),
      times.node, field(said.zone, zone)),
    read: () => ({ days: boxes.filter((box) => box.checked).map((box) => box.value), ...times.read(), time_zone: zone.value.trim() }),
  };
}

// ---------------------------------------------------------------------- prices

/** Prices by model and by channel; a known model comes with its list price. */
function prices(value) {
  const currency = el("input", { required: true, minlength: 3, maxlength: 3, autocomplete: "off", value: value?.currency ?? "USD" });
  const rows = new Map(), list = el("div", { class: "stack" });
  const channels = Object.fromEntries(CHANNELS.map((name) => [name, price(value?.channels?.[name] ?? "", false)]));

  function add(model, { input = "", cached = "", output = "" } = {}) {
    if (model === "" || rows.has(model)) return;
    const given = { input: price(input, true), cached: price(cached ?? "", false), output: price(output, true) };
    const remove = button(said.remove, () => {
      rows.delete(model);
      row.remove();
    }, { "aria-label": said.removeModel(model) });
    const row = el("fieldset", { class: "price" }, el("legend", {}, model),
      el("div", { class: "row fields" }, Object.entries(given).map(([name, control]) => field(said.pricesOf[name], control)), remove));
    rows.set(model, given);
    list.append(row);
  }
  for (const [model, each] of Object.entries(value?.models ?? {})) add(model, each);
  const known = select([["", said.chooseModel], ...Object.keys(modelPrices).map((each) => [each, each])], "", (model) => {
    const [input, cached, output] = modelPrices[model] ?? [];
    add(model, { input, cached, output });
    known.value = "";
  });
  const other = el("input", { autocomplete: "off", maxlength: 200 });
  const addOther = button(said.addModel, () => {
    add(other.value.trim());
    other.value = "";
  });
  return {
    node: el("div", { class: "stack" }, field(said.currency, currency), el("p", { class: "hint" }, said.aboutPrices), list,
      field(said.known, known, said.knownHint), el("div", { class: "row" }, field(said.other, other), addOther),
      el("div", { class: "row fields" }, CHANNELS.map((name) => field(said.channels[name], channels[name])))),
    read: () => ({
      currency: currency.value.trim().toUpperCase(),
      models: Object.fromEntries([...rows].map(([model, { input, cached, output }]) =>
        [model, { input: Number(input.value), cached: cached.value === "" ? null : Number(cached.value), output: Number(output.value) }])),
      channels: Object.fromEntries(Object.entries(channels).filter(([, control]) => control.value !== "").map(([name, control]) => [name, Number(control.value)])),
    }),
  };
}

function price(value, required) { return el("input", { type: "number", min: 0, step: "any", required, value }); }
