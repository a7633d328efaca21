// Example client of the live channel: onmessage gets each new message of all chats once, in order.
//   const client = new LiveClient("https://api.example.com", token);
//   client.onend = (error) => signIn(error.message); // then client.start()
const PING_MS = 120_000, LONGEST_PAUSE_MS = 60_000;
export class LiveClient {
  onmessage = (message) => console.log(message.chat_id, message.sender.name, message.text);
  ondraft = (chat, agent, words) => console.log(chat, agent.name, "writes:", words); // "": no more
  onlost = (error) => console.warn("The connection was lost:", error.message);
  onend = (error) => console.error("The token has expired or is not valid:", error.message);
  #drafts = new Map(); // by chat and agent: the words of an answer, and how many frames brought them
  #seen = null; // by chat: the highest seq that was delivered or is older
  constructor(url, token) { [this.url, this.token] = [url, token]; }
  async start() {
    for (let pause = 500; ; ) {
      const began = Date.now(), error = await this.#listen().catch((failure) => failure);
      if ([401, 403].includes(error.status)) return this.onend(error);
      this.onlost(error);
      pause = Date.now() - began > LONGEST_PAUSE_MS ? 1000 : Math.min(2 * pause, LONGEST_PAUSE_MS);
      await new Promise((next) => setTimeout(next, pause * (0.5 + Math.random() / 2)));
    }
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
  #draft(chat, agent, n, text) {
    const key = chat + agent.id, [words, last] = n > 1 ? this.#drafts.get(key) ?? ["", 0] : ["", n - 1];
    if (n !== last + 1 || (n === 0 && !this.#drafts.delete(key))) return; // missing, twice or nothing
    if (n > 0) this.#drafts.set(key, [words + text, n]);
    this.ondraft(chat, agent, words + text);
  }
  async #handle({ type, chat_id: chat, message: pushed, agent, n = 0, text = "" }) {
    if (type === "delta" || type === "retract") this.#draft(chat, agent, n, text);
    if (type !== "message" && type !== "resync") return;
    const after = this.#seen.get(chat) ?? 0, complete = pushed && pushed.seq <= after + 1;
    const missing = `/v1/chats/${chat}/messages?after=${after}&`;
    for (const message of complete ? [pushed] : await this.#items(missing)) {
      if (message.seq <= (this.#seen.get(chat) ?? 0)) continue;
      this.#seen.set(chat, message.seq);
      this.#draft(chat, message.sender, 0, "");
      this.onmessage(message);
    }
  }
  async #listen() { // throws why the connection was lost
    const chats = () => this.#items("/v1/chats?");
    this.#seen ??= new Map((await chats()).map((chat) => [chat.id, chat.last_seq]));
    const { url, ticket } = await this.#call("POST", "/v1/live");
    const socket = new WebSocket(`${url}?ticket=${ticket}`);
    let work = Promise.resolve(), heard = 0, timer;
    await new Promise((_, lose) => {
      const then = (step) => { work = work.then(step); work.catch(lose); };
      socket.onopen = () => { heard = Date.now(); then(readAll); };
      const readAll = async () => {
        for (const { id } of await chats()) await this.#handle({ type: "resync", chat_id: id });
      };
      socket.onmessage = ({ data }) => { heard = Date.now(); then(() => this.#handle(JSON.parse(data))); };
      socket.onclose = ({ code }) => then(() => lose(new Error(`closed with code ${code}`)));
      timer = setInterval(() => { // a ping that was not answered: the connection is gone
        if (Date.now() - heard > 1.5 * PING_MS) lose(new Error("no answer to a ping"));
        else socket.send('{"type": "ping"}');
      }, PING_MS);
    }).finally(() => { clearInterval(timer); socket.close(); });
  }
}
