// Example client: new LiveClient(url, token).start(). onmessage gets each new message once, in order.
const PING_MS = 120_000, LONGEST_PAUSE_MS = 60_000, VOID = ["retract", "done", "failed"];
export class LiveClient {
  onmessage = (message) => console.log(message.chat_id, message.sender.name, message.text);
  ondraft = (chat, agent, words) => console.log(chat, agent.name, "writes:", words); // "": no more
  onlost = (error) => console.warn("The connection was lost:", error.message);
  onend = (error) => console.error("The token has expired or is not valid:", error.message);
  #drafts = new Map(); #seen = null; // words and frames of an answer; by chat, the highest seq delivered
  constructor(url, token) { [this.url, this.token] = [url, token]; }
  async start(pause = 500) {
    const began = Date.now(), error = await this.#listen().catch((failure) => failure);
    if ([401, 403].includes(error.status)) return this.onend(error);
    this.#drafts.forEach(([, , chat, agent]) => this.#draft(chat, agent)), this.onlost(error);
    const next = Date.now() - began > LONGEST_PAUSE_MS ? 1000 : Math.min(2 * pause, LONGEST_PAUSE_MS);
    setTimeout(() => this.start(next), next * (0.5 + Math.random() / 2)); // not all clients at once
  }
  async #call(method, path) {
    const headers = { Authorization: `Bearer ${this.token}` }, signal = AbortSignal.timeout(30_000);
    const answer = await fetch(this.url + path, { method, headers, signal });
    if (answer.ok) return answer.json();
    throw Object.assign(new Error(`${method} ${path}: ${answer.status}`), { status: answer.status });
  }
  async #items(path, cursor = "") {
    const { items, next_cursor: next } = await this.#call("GET", `${path}limit=100${cursor}`);
    return next === null ? items : [...items, ...(await this.#items(path, `&cursor=${next}`))];
  }
  #draft(chat, agent, n = 0, text = "") {
    const key = chat + agent.id, [words, last] = n > 1 ? this.#drafts.get(key) ?? ["", 0] : ["", n - 1];
    if (n !== last + 1 || (n === 0 && !this.#drafts.delete(key))) return; // missing, twice or nothing
    if (n > 0) this.#drafts.set(key, [words + text, n, chat, agent]);
    this.ondraft(chat, agent, words + text);
  }
  async #handle({ type, chat_id: chat, message: pushed, agent, status, n, text }) {
    if (type === "delta" || VOID.includes(status ?? type)) this.#draft(chat, agent, n, text);
    if (type !== "message" && type !== "resync") return;
    const after = this.#seen.get(chat) ?? 0, complete = pushed && pushed.seq <= after + 1;
    const found = complete ? [pushed] : await this.#items(`/v1/chats/${chat}/messages?after=${after}&`);
    for (const message of found.filter(({ seq }) => seq > after)) {
      this.#seen.set(chat, message.seq);
      this.#draft(chat, message.sender);
      this.onmessage(message);
    }
  }
  async #listen() { // throws why the connection was lost
    this.#seen ??= new Map((await this.#items("/v1/chats?")).map((chat) => [chat.id, chat.last_seq]));
    const { url, ticket } = await this.#call("POST", "/v1/live");
    const socket = new WebSocket(`${url}?ticket=${ticket}`);
    let work = Promise.resolve(), heard = 0, timer;
    await new Promise((_, lose) => {
      const then = (step) => { heard = Date.now(); (work = work.then(step)).catch(lose); };
      const handle = (frame) => then(() => this.#handle(frame));
      const read = ({ id }) => handle({ type: "resync", chat_id: id });
      socket.onopen = () => then(async () => (await this.#items("/v1/chats?")).forEach(read));
      socket.onmessage = ({ data }) => handle(JSON.parse(data));
      socket.onclose = ({ code }) => then(() => lose(new Error(`closed with code ${code}`)));
      const lost = () => Date.now() - heard > 1.5 * PING_MS && (lose(new Error("no answer to a ping")), true);
      timer = setInterval(() => lost() || socket.send('{"type": "ping"}'), PING_MS);
    }).finally(() => { clearInterval(timer); socket.close(); });
  }
}
