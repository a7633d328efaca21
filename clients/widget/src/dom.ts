// Elements whose texts are text nodes, so that nothing a person or an agent wrote can run as code.
type Listener = (event: Event) => unknown;
type Attributes = Record<string, string | number | boolean | null | Listener>;
type Child = Node | string | null;

/** Make an element; null and false leave an attribute out, and a function listens to an event. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

/** Make a link that opens beside the page; text without a link if the address is not allowed. */
export function link(text: string, address: string, schemes = ["https:", "http:"]): Node {
  if (!URL.canParse(address) || !schemes.includes(new URL(address).protocol)) return new Text(text);
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}
