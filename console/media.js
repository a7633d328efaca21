// Pictures and files of messages: shown, saved, and chosen to be sent.
import { el, fill, picture, saveFile } from "./dom.js";
import { words } from "./words.js";

const MOST_KEPT = 60; // files in memory
const said = words.media;
const kept = new Map(); // promises of blobs, by id

/** Load a file from its signed address; that of a local stack is on this page's own origin. */
export async function blobAt(address, type) {
  const url = new URL(address, location.href);
  const own = url.hostname === "127.0.0.1" || url.origin === location.origin;
  const answer = await fetch(own ? url.pathname + url.search : url.href);
  if (!answer.ok) throw new Error(said.lost);
  return new Blob([await answer.arrayBuffer()], { type });
}

/**
 * Load a file of a chat.
 *
 * @param {string} path The path of the call that signs its address.
 */
export function fileAt(api, path, { id, type }) {
  if (!kept.has(id)) {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value);
    const loading = api.get(path).then(({ url }) => blobAt(url, type));
    kept.set(id, loading);
    loading.catch(() => kept.delete(id));
  }
  return kept.get(id);
}

/**
 * Show the files of a message; null for none.
 *
 * @param {object[]} media Each with `type` and, from the API, `state` and `description`.
 * @param {(file: object) => Promise<Blob>} load Loads a file.
 */
export function mediaView(media, load) {
  if (!media || media.length === 0) return null;
  return el("div", { class: "media" }, media.map((file) => fileView(file, load)));
}

function fileView(file, load) {
  const image = file.type.startsWith("image/");
  const { state = "ready" } = file;
  if (state !== "ready") return el("p", { class: "hint" }, said.states[state](image));
  if (!image) return saver(file, load);
  const place = el("div", { class: "picture", "data-state": "loading" }, el("span", { class: "hint" }, said.loading));
  load(file).then((blob) => {
    fill(place, picture(blob, file.description || said.picture));
    place.dataset.state = "shown";
  }, () => { place.textContent = said.lost; });
  return place;
}

function saver(file, load) {
  const made = el("button", { type: "button", class: "link", on: { click: async () => {
    made.disabled = true;
    try {
      saveFile(said.fileName(file.type), await load(file));
    } catch (error) {
      made.textContent = error.message;
    } finally {
      made.disabled = false;
    }
  } } }, said.save(said.kinds[file.type] ?? file.type));
  return made;
}

/** A button that chooses files, and the list of those chosen. */
export class Attachments {
  #files = [];

  constructor() {
    this.input = el("input", { type: "file", hidden: true, on: { change: () => this.#chosen() } });
    this.input.multiple = true;
    this.input.accept = "image/*,application/pdf,text/plain,text/vcard";
    this.button = el("button", { type: "button", class: "attach", "aria-label": said.attach, title: said.attach,
      on: { click: () => this.input.click() } }, "+");
    this.list = el("ul", { class: "chosen", hidden: true, "aria-label": said.chosen });
  }

  get empty() { return this.#files.length === 0; }

  /** Return the chosen files, and forget them. */
  take() {
    const files = this.#files;
    this.#files = [];
    this.#show();
    return files;
  }

  #chosen() {
    this.#files.push(...this.input.files);
    this.input.value = "";
    this.#show();
  }

  #show() {
    this.list.hidden = this.empty;
    fill(this.list, this.#files.map((file) => el("li", {}, file.name, " ",
      el("button", { type: "button", class: "link", "aria-label": said.remove(file.name), on: { click: () => {
        this.#files = this.#files.filter((each) => each !== file);
        this.#show();
      } } }, said.removeShort))));
  }
}

/** Upload a file for a message of a chat; return its id. */
export function upload(api, chatId, file) { return uploaded(api, "/v1/media", file, file.type || "text/plain", { chat_id: chatId }); }

/** Upload a file to the address that a call signs; return its id. */
export async function uploaded(api, path, file, type, given = {}) {
  const bytes = await file.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const { id, url, headers } = await api.post(path, { ...given, type, bytes: file.size, sha256 });
  delete headers["content-length"]; // the browser states it
  const address = new URL(url);
  const own = address.hostname === "127.0.0.1";
  const answer = await fetch(own ? address.pathname + address.search : url, { method: "PUT", headers, body: bytes });
  if (!answer.ok) throw new Error(said.notUploaded(file.name));
  return id;
}

/** Return a file as `POST /local/sms` takes it. */
export async function inBase64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { type: file.type || "text/plain", data: btoa(text) };
}
