// The Markdown that agents write, as elements and text nodes: no HTML, no pictures, only http(s) links.
import { el, link } from "./dom.js";

const INLINE =
  /`([^`\n]{1,2000})`|\*\*([^*\n]{1,2000})\*\*|\*([^*\s][^*\n]{0,2000})\*|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>"]{1,2000})/g;
const ITEM = /^\s{0,6}(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;

/** Return the blocks of a text. */
export function markdown(text: string): Node[] {
  const blocks: Node[] = [];
  let paragraph: string[] = [];
  let list: HTMLOListElement | HTMLUListElement | null = null;
  const end = (): void => {
    if (paragraph.length > 0) blocks.push(el("p", {}, inline(paragraph.join("\n"))));
    paragraph = [];
    list = null;
  };
  const lines = text.split(/\r\n?|\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const item = ITEM.exec(line);
    const heading = HEADING.exec(line);
    if (line.startsWith("```")) {
      end();
      const last = lines.findIndex((each, index) => index > at && each.startsWith("```"));
      const stop = last < 0 ? lines.length : last;
      blocks.push(el("pre", { tabindex: 0 }, lines.slice(at + 1, stop).join("\n")));
      at = stop;
    } else if (item) {
      const tag = item[1] === undefined ? "ul" : "ol";
      if (list === null || list.localName !== tag) {
        end();
        list = tag === "ol" ? el("ol", { start: item[1] ?? 1 }) : el("ul");
        blocks.push(list);
      }
      list.append(el("li", {}, inline(item[2] ?? "")));
    } else if (heading) {
      end();
      blocks.push(el("p", {}, el("strong", {}, inline(heading[1] ?? ""))));
    } else if (line.trim() === "") end();
    else {
      if (list !== null) end();
      paragraph.push(line);
    }
  }
  end();
  return blocks;
}

function inline(text: string): Node[] {
  const found: Node[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, address, bare] = match;
    found.push(...lined(text.slice(from, match.index)));
    from = match.index + whole.length;
    if (code !== undefined) found.push(el("code", {}, code));
    else if (strong !== undefined) found.push(el("strong", {}, inline(strong)));
    else if (emphasis !== undefined) found.push(el("em", {}, inline(emphasis)));
    else if (label !== undefined) found.push(link(label, address ?? ""));
    else {
      const url = (bare ?? "").replace(/[.,;:!?'")\]]+$/, ""); // the end of a sentence
      from -= whole.length - url.length;
      found.push(link(url, url));
    }
  }
  found.push(...lined(text.slice(from)));
  return found;
}

function lined(text: string): Node[] {
  return text.split("\n").flatMap((line, index) => (index === 0 ? [new Text(line)] : [el("br"), new Text(line)]));
}
