// The live channel: frames over a WebSocket, with a new connection after a lost one.
const PING_MS = 120_000, FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 30_000;

export class Live {
  #stopped = false;
  #socket = null;
  #wake = () => {};
  #api;
  #onframe;
  #onstate;

  /**
   * @param {Api} api The API of the person.
   * @param {(frame: object) => void} onframe Called with each frame.
   * @param {(state: "connected"|"lost"|"ended") => void} onstate Called with each new state. After
   *   `connected`, read what was missed.
   */
  constructor(api, onframe, onstate) {
    this.#api = api;
    this.#onframe = onframe;
    this.#onstate = onstate;
    this.online = () => this.#wake();
  }

  async start() {
    addEventListener("online", this.online);
    for (let pause = FIRST_PAUSE_MS; !this.#stopped; ) {
      const began = Date.now();
      const error = await this.#listen().catch((failure) => failure);
      if (this.#stopped) return;
      if ([401, 403, 404].includes(error?.status)) {
        this.#onstate("ended");
        return;
      }
      this.#onstate("lost");
      pause = Date.now() - began > LONGEST_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
      await new Promise((next) => {
        this.#wake = next;
        setTimeout(next, pause * (0.5 + Math.random() / 2));
      });
    }
  }

  /** Send a frame, if there is a connection. */
  send(frame) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  stop() {
    this.#stopped = true;
    removeEventListener("online", this.online);
    this.#socket?.close();
    this.#wake();
  }

  async #listen() {
    const { url, ticket } = await this.#api.post("/v1/live");
    if (this.#stopped) return;
    const socket = this.#socket = new WebSocket(`${url}?${new URLSearchParams({ ticket })}`);
    let heard = Date.now(), timer;
    await new Promise((ended) => {
      socket.onopen = () => this.#onstate("connected");
      socket.onmessage = ({ data }) => {
        heard = Date.now();
        this.#onframe(JSON.parse(data));
      };
      socket.onclose = ended;
      timer = setInterval(() => { // a ping without an answer: the connection is gone
        if (Date.now() - heard > 1.5 * PING_MS) ended();
        else this.send({ type: "ping" });
      }, PING_MS);
    });
    clearInterval(timer);
    socket.close();
  }
}
