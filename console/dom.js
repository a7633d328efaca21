// Makes elements. Texts become text nodes and nothing is parsed as HTML, so a name, a message or an
// error can never run as code, load media or link to another site.

const ATTRIBUTES = new Set([
  "action", "alt", "autocomplete", "checked", "class", "cols", "colspan", "datetime", "dir", "disabled",
  "for", "height", "hidden", "id", "inputmode", "lang", "max", "maxlength", "method", "min", "minlength", "name",
  "open", "pattern", "placeholder", "readonly", "required", "role", "rows", "scope", "selected", "spellcheck",
  "step", "tabindex", "title", "type", "value", "width",
]);
// A property, since the attribute would only set what the element has at first.
const PROPERTIES = new Set(["value", "checked", "selected"]);

/**
 * Make an element.
 *
 * @param {string} tag The name of the element.
 * @param {object} given Attributes; `on` has the listeners by event; `href` must be of this page.
 * @param {...(Node|string|number|null|Array)} children Nodes and texts; null is left out.
 */
export function el(tag, given = {}, ...children) {
  if (tag === "script" || tag === "style" || tag === "iframe") throw new Error(`no <${tag}>`);
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) set(element, name, value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "g", "rect", "circle", "line", "text", "title"]);

/** Make an element of a drawing; `given` has its attributes. */
export function shape(tag, given = {}, ...children) {
  if (!SHAPES.has(tag)) throw new Error(`no <${tag}>`);
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) {
    if (/^on|href|style/i.test(name)) throw new Error(`no attribute ${name}`);
    if (value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat());
  return element;
}

/** Set an attribute; null and false remove it. */
export function set(element, name, value) {
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else if (name === "href") {
    if (!String(value).startsWith("#")) throw new Error("a link must stay on this page");
    element.setAttribute(name, value);
  } else if (!ATTRIBUTES.has(name) && !name.startsWith("aria-") && !name.startsWith("data-")) {
    throw new Error(`no attribute ${name}`);
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else if (PROPERTIES.has(name)) {
    element[name] = value;
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  element.append(...el("div", {}, ...children).childNodes);
  return element;
}

let fields = 0;

/** Make a control with its label and, if given, a hint below. */
export function field(label, control, hint = null) {
  fields += 1;
  control.id ||= `field-${fields}`;
  if (hint !== null) control.setAttribute("aria-describedby", `${control.id}-hint`);
  return el("div", { class: "field" },
    el("label", { for: control.id }, label), control,
    hint === null ? null : el("p", { class: "hint", id: `${control.id}-hint` }, hint));
}

/** Make a select of `[value, text]` pairs. */
export function select(options, chosen, onchange) {
  const control = el("select", { on: { change: () => onchange(control.value) } },
    options.map(([value, text]) => el("option", { value }, text)));
  if (chosen !== null) control.value = chosen;
  return control;
}

/** Make a button that is disabled while its action runs. */
export function button(text, action, given = {}) {
  const made = el("button", { type: "button", ...given }, text);
  made.addEventListener("click", async () => {
    made.disabled = true;
    try {
      await action();
    } finally {
      made.disabled = false;
      if (document.activeElement === document.body) made.focus(); // a disabled button loses the focus
    }
  });
  return made;
}

const PICTURES = new Set(["image/jpeg", "image/png", "image/webp", "image/gif"]);

/** Make a picture of bytes that the page has loaded; nothing else can load one. */
export function picture(blob, label) {
  if (!PICTURES.has(blob.type)) throw new Error(`no picture of the type ${blob.type}`);
  const made = document.createElement("img");
  made.alt = label;
  made.src = URL.createObjectURL(blob);
  made.addEventListener("load", () => URL.revokeObjectURL(made.src), { once: true });
  return made;
}

/** Save a text as a file of the person's computer. */
export function download(name, text) { saveFile(name, new Blob([text], { type: "application/json" })); }

/** Save bytes as a file of the person's computer. */
export function saveFile(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // after the browser has read it
}
