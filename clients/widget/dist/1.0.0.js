// The web chat of Skein, 1.0.0. Apache License 2.0.
(() => {
"use strict";
const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
class Backoff {
    #next = FIRST_MS;
    reset() {
        this.#next = FIRST_MS;
    }
    pause() {
        const pause = this.#next * (0.5 + Math.random() / 2);
        this.#next = Math.min(2 * this.#next, LONGEST_MS);
        return pause;
    }
}
class Pause {
    #end = () => undefined;
    #woken = false;
    wake() {
        this.#woken = true;
        this.#end();
    }
    async wait(milliseconds) {
        let timer;
        if (!this.#woken) {
            await new Promise((end) => {
                this.#end = end;
                if (milliseconds !== undefined)
                    timer = setTimeout(end, milliseconds);
            });
        }
        clearTimeout(timer);
        this.#woken = false;
    }
}
class Answer {
    chatId;
    #agent = null;
    #shown = "";
    constructor(chatId) {
        this.chatId = chatId;
    }
    *add(event) {
        if (event.type !== "draft" || event.ended || event.chatId !== this.chatId)
            return;
        if (this.#agent !== null && this.#agent !== event.agent.id)
            return;
        this.#agent = event.text === "" ? null : event.agent.id;
        yield this.#grown(event.text);
    }
    end(message) {
        return { ...this.#grown(message.text ?? ""), message };
    }
    #grown(text) {
        const restarts = !text.startsWith(this.#shown);
        const added = restarts ? text : text.slice(this.#shown.length);
        this.#shown = text;
        return { text, new: added, restarts };
    }
}
async function* streamAnswer(client, chatId, message, seconds) {
    const live = new Live(client);
    const answer = new Answer(chatId);
    let posted;
    const timer = setTimeout(() => live.stop(), 1000 * seconds);
    try {
        for await (const event of live.events()) {
            posted ??= await client.messages.send(chatId, message);
            yield* answer.add(event);
            let found;
            if (event.type === "message" && answers(event.message, posted))
                found = event.message;
            else if (event.type === "connected" || event.type === "lost")
                found = await answerTo(client, posted);
            if (found === undefined)
                continue;
            yield answer.end(found);
            return;
        }
    }
    finally {
        clearTimeout(timer);
        live.stop();
    }
    if (posted === undefined)
        throw new Unreachable("the live channel did not open in time");
    throw new NoAnswer(posted);
}
async function answerTo(client, posted) {
    for await (const message of client.messages.list(posted.chat_id, posted.seq)) {
        if (answers(message, posted))
            return message;
    }
    return undefined;
}
function answers(message, posted) {
    return message.chat_id === posted.chat_id && message.seq > posted.seq && message.sender.kind !== "user";
}
const LOCAL = "http://127.0.0.1:8787";
const PAGE = 100;
const TOO_MANY = 429;
const SERVER_ERROR = 500;
const MAX_RETRY_AFTER_MS = 60_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 3_000;
const REPEATABLE = new Set(["GET", "POST", "PUT", "DELETE"]);
const RUNS_AGAIN = ["/v1/live", "/try", "/replay", "/drafts"];
const GATEWAY_CODES = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
    504: "unavailable",
};
class ApiError extends Error {
    status;
    code;
    detail;
    retryAfterSeconds;
    name = "ApiError";
    type;
    title;
    details;
    requestId;
    constructor(status, code, detail, retryAfterSeconds, problem = {}) {
        const request = problem.requestId ? ` (request ${problem.requestId})` : "";
        super(`${status} ${code}: ${detail}${request}`);
        this.status = status;
        this.code = code;
        this.detail = detail;
        this.retryAfterSeconds = retryAfterSeconds;
        this.type = problem.type ?? "about:blank";
        this.title = problem.title ?? "";
        this.details = problem.details ?? {};
        this.requestId = problem.requestId ?? "";
    }
    get needsSignIn() {
        return this.status === 401 || this.status === 403;
    }
    get isTemporary() {
        return this.status === TOO_MANY || this.status >= SERVER_ERROR;
    }
}
class Unreachable extends Error {
    answered;
    name = "Unreachable";
    constructor(message, options, answered = false) {
        super(message, options);
        this.answered = answered;
    }
}
class NoAnswer extends Error {
    posted;
    name = "NoAnswer";
    constructor(posted) {
        super("no answer in time");
        this.posted = posted;
    }
}
class Client {
    token;
    timeoutMs;
    retries;
    chats = new Chats(this);
    members = new Members(this);
    messages = new Messages(this);
    media = new Media(this);
    choices = new Choices(this);
    #url;
    constructor(url = environment("SKEIN_URL") ?? LOCAL, token = environment("SKEIN_TOKEN") ?? "", timeoutMs = 30_000, retries = 2) {
        this.token = token;
        this.timeoutMs = timeoutMs;
        this.retries = retries;
        if (token === "")
            throw new TypeError("there is no token: pass one, or set SKEIN_TOKEN");
        this.#url = url.replace(/\/+$/, "");
    }
    withRetries(retries) {
        return new Client(this.#url, this.token, this.timeoutMs, retries);
    }
    async call(method, path, body, query = {}) {
        const repeatable = REPEATABLE.has(method) && !RUNS_AGAIN.some((end) => path.endsWith(end));
        const key = method === "POST" ? { "Idempotency-Key": crypto.randomUUID() } : {};
        const backoff = new Backoff();
        for (let left = repeatable ? this.retries : 0;; left -= 1) {
            try {
                return await this.#callOnce(method, path, body, query, key);
            }
            catch (error) {
                const refused = error instanceof ApiError;
                const wanted = refused ? 1000 * (error.retryAfterSeconds ?? 0) : 0;
                const again = refused ? error.isTemporary : error instanceof Unreachable && !error.answered;
                if (left === 0 || !again || wanted > MAX_RETRY_AFTER_MS)
                    throw error;
                await new Promise((done) => setTimeout(done, Math.max(backoff.pause(), wanted)));
            }
        }
    }
    async #callOnce(method, path, body, query, key) {
        const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
        const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
        const url = `${this.#url}${path}${given.length > 0 ? "?" : ""}${search}`;
        const sent = body === undefined ? {} : { body: JSON.stringify(body) };
        let response;
        let text;
        try {
            const token = typeof this.token === "function" ? await this.token() : this.token;
            const headers = { ...key };
            if (token !== null)
                headers["Authorization"] = `Bearer ${token}`;
            if (body !== undefined)
                headers["Content-Type"] = "application/json";
            const signal = AbortSignal.timeout(this.timeoutMs);
            response = await fetch(url, { method, headers, signal, redirect: "error", ...sent });
            text = await response.text();
        }
        catch (error) {
            if (error instanceof ApiError)
                throw error;
            throw new Unreachable(`${method} ${path}: ${String(error)}`, { cause: error });
        }
        if (!response.ok)
            throw apiError(response, text);
        try {
            return (text === "" ? undefined : JSON.parse(text));
        }
        catch (error) {
            throw new Unreachable(`${method} ${path}: the response is not JSON`, { cause: error }, true);
        }
    }
    async *items(path, query = {}) {
        let cursor = null;
        do {
            const page = await this.call("GET", path, undefined, { limit: PAGE, ...query, cursor });
            yield* page.items;
            cursor = page.next_cursor;
        } while (cursor !== null);
    }
    async search(text, limit = 20) {
        const found = await this.call("GET", "/v1/me/messages", undefined, {
            q: text,
            limit,
        });
        return found.items;
    }
    ticket() {
        return this.call("POST", "/v1/live");
    }
}
class Chats {
    client;
    constructor(client) {
        this.client = client;
    }
    list() {
        return this.client.items("/v1/chats");
    }
    get(chatId) {
        return this.client.call("GET", pathOf(chatId));
    }
    create(chat) {
        return this.client.call("POST", "/v1/chats", { client_id: crypto.randomUUID(), ...chat });
    }
    open(agentId) {
        return this.create({ kind: "direct", members: [{ kind: "agent", id: agentId }] });
    }
    change(chatId, change) {
        return this.client.call("PATCH", pathOf(chatId), change);
    }
    discard(chatId) {
        return this.client.call("DELETE", pathOf(chatId));
    }
    ask(chatId, text, options = {}) {
        const message = { text, client_id: options.clientId ?? crypto.randomUUID() };
        const seconds = options.seconds ?? 60;
        if (options.stream)
            return streamAnswer(this.client, chatId, message, seconds);
        return this.#answer(chatId, message, seconds);
    }
    async #answer(chatId, message, seconds) {
        const posted = await this.client.messages.send(chatId, message);
        const ends = Date.now() + 1000 * seconds;
        let seen = posted.seq;
        for (let pause = MIN_PAUSE_MS;; pause = Math.min(1.5 * pause, MAX_PAUSE_MS)) {
            for await (const message of this.client.messages.list(chatId, seen)) {
                if (message.sender.kind !== "user")
                    return message;
                seen = message.seq;
            }
            const left = ends - Date.now();
            if (left <= 0)
                throw new NoAnswer(posted);
            await new Promise((done) => setTimeout(done, Math.min(pause, left)));
        }
    }
}
class Members {
    client;
    constructor(client) {
        this.client = client;
    }
    list(chatId) {
        return this.client.items(pathOf(chatId, "members"));
    }
    add(chatId, kind, memberId) {
        return this.client.call("PUT", pathOf(chatId, "members", kind, memberId));
    }
    remove(chatId, kind, memberId) {
        return this.client.call("DELETE", pathOf(chatId, "members", kind, memberId));
    }
}
class Messages {
    client;
    constructor(client) {
        this.client = client;
    }
    list(chatId, after = 0) {
        return this.client.items(pathOf(chatId, "messages"), { after });
    }
    post(chatId, text, { clientId, replyTo, media } = {}) {
        const reply = replyTo === undefined ? {} : { reply_to: replyTo };
        const files = media === undefined ? {} : { media };
        const client_id = clientId ?? crypto.randomUUID();
        return this.send(chatId, { text, client_id, ...files, ...reply });
    }
    send(chatId, message) {
        return this.client.call("POST", pathOf(chatId, "messages"), message);
    }
    delete(chatId, seq) {
        return this.client.call("DELETE", pathOf(chatId, "messages", String(seq)));
    }
    markRead(chatId, seq) {
        return this.client.call("POST", pathOf(chatId, "read"), { seq });
    }
}
class Media {
    client;
    constructor(client) {
        this.client = client;
    }
    async upload(chatId, file, type = file.type) {
        const data = await file.arrayBuffer();
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
        const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
        const announced = { chat_id: chatId, type, bytes: data.byteLength, sha256 };
        const upload = await this.client.call("POST", "/v1/media", announced);
        let response;
        try {
            response = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: data });
        }
        catch (error) {
            throw new Unreachable("upload", { cause: error });
        }
        if (!response.ok)
            throw apiError(response, await response.text());
        return upload.id;
    }
    link(chatId, mediaId) {
        return this.client.call("GET", pathOf(chatId, "media", mediaId));
    }
}
class Choices {
    client;
    constructor(client) {
        this.client = client;
    }
    async list() {
        const page = await this.client.call("GET", "/v1/me/choices");
        return page.items;
    }
    answer(chatId, choice, clientId) {
        const client_id = clientId ?? crypto.randomUUID();
        return this.client.messages.send(chatId, { choice, client_id });
    }
    answerInvitation(chatId, accept) {
        return this.client.call("POST", pathOf(chatId, "invitation"), { accept });
    }
}
function pathOf(...parts) {
    return ["/v1/chats", ...parts.map(encodeURIComponent)].join("/");
}
function environment(name) {
    const { process } = globalThis;
    return process?.env?.[name] || undefined;
}
function apiError(response, text) {
    const body = parsed(text);
    const detail = body.detail ?? body.message ?? response.statusText;
    const code = body.code ?? GATEWAY_CODES[response.status] ?? "";
    const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
    return new ApiError(response.status, code, detail, Number.isNaN(after) ? undefined : after, {
        type: body.type ?? "about:blank",
        title: body.title ?? response.statusText,
        details: body.details ?? {},
        requestId: body.request_id ?? response.headers.get("apigw-requestid") ?? "",
    });
}
function parsed(text) {
    try {
        return (JSON.parse(text) ?? {});
    }
    catch {
        return {};
    }
}
const NOT_FOUND = 404;
class Drafts {
    #drafts = new Map();
    *add(chatId, agent, n, text) {
        const key = JSON.stringify([chatId, agent.id]);
        const begun = this.#drafts.get(key);
        if (n !== 1 && n !== (begun?.n ?? -1) + 1)
            return;
        const grown = n === 1 ? text : `${begun?.text ?? ""}${text}`;
        this.#drafts.set(key, { chatId, agent, text: grown, n });
        if (grown !== begun?.text)
            yield { type: "draft", chatId, agent, text: grown, ended: false };
    }
    *void(chatId, agent, ended = false) {
        if (this.#drafts.delete(JSON.stringify([chatId, agent.id]))) {
            yield { type: "draft", chatId, agent, text: "", ended };
        }
    }
    *voidAll() {
        for (const { chatId, agent } of [...this.#drafts.values()])
            yield* this.void(chatId, agent);
    }
}
class Live {
    #seen;
    #drafts = new Drafts();
    #socket = null;
    #shown = null;
    #lose = () => undefined;
    #stopped = false;
    #pause = new Pause();
    #pingMs;
    #chatId;
    client;
    constructor(client, options = {}) {
        this.client = client.withRetries(0);
        this.#seen = options.seen ? new Map(Object.entries(options.seen)) : null;
        this.#pingMs = options.pingMs ?? 120_000;
        this.#chatId = options.chatId;
    }
    get seen() {
        return Object.fromEntries(this.#seen ?? []);
    }
    stop() {
        this.#stopped = true;
        this.#lose("stopped");
        this.#pause.wake();
    }
    typing(chatId) {
        this.#send({ type: "typing", chat_id: chatId });
    }
    showing(chatId) {
        this.#shown = chatId;
        this.#send({ type: "showing", chat_id: chatId });
    }
    #send(frame) {
        if (this.#socket?.readyState === WebSocket.OPEN)
            this.#socket.send(JSON.stringify(frame));
    }
    async *events() {
        const backoff = new Backoff();
        while (!this.#stopped) {
            const began = Date.now();
            let atLeast = 0;
            try {
                yield* this.#listen();
            }
            catch (error) {
                if (error instanceof ApiError) {
                    if (error.needsSignIn)
                        throw error;
                    atLeast = 1000 * (error.retryAfterSeconds ?? 0);
                }
                if (this.#stopped)
                    return;
                yield* this.#drafts.voidAll();
                yield { type: "lost", error };
            }
            if (Date.now() - began > LONGEST_MS)
                backoff.reset();
            if (!this.#stopped)
                await this.#pause.wait(Math.max(backoff.pause(), atLeast));
        }
    }
    async *#listen() {
        if (this.#seen === null) {
            const seen = new Map();
            for await (const chat of this.client.chats.list())
                seen.set(chat.id, chat.last_seq);
            this.#seen = seen;
        }
        const { url, ticket } = await this.client.ticket();
        if (this.#stopped)
            return;
        const socket = new WebSocket(`${url}?ticket=${ticket}`);
        this.#socket = socket;
        const frames = [];
        const [opened, arrived] = [new Pause(), new Pause()];
        let heard = Date.now();
        let lost = null;
        const lose = (reason) => {
            lost ??= new Unreachable(reason);
            opened.wake();
            arrived.wake();
        };
        this.#lose = lose;
        socket.onopen = () => opened.wake();
        socket.onmessage = ({ data }) => {
            heard = Date.now();
            frames.push(JSON.parse(String(data)));
            arrived.wake();
        };
        socket.onclose = ({ code }) => lose(`the connection was closed with code ${code}`);
        socket.onerror = () => lose("the connection failed");
        const timer = setInterval(() => {
            if (Date.now() - heard > 1.5 * this.#pingMs)
                lose("no answer to a ping");
            else if (socket.readyState === WebSocket.OPEN)
                socket.send('{"type": "ping"}');
        }, this.#pingMs);
        try {
            await opened.wait();
            if (lost === null) {
                if (this.#shown !== null)
                    this.showing(this.#shown);
                if (this.#chatId !== undefined)
                    yield* this.#missed(this.#chatId);
                else
                    for await (const { id, last_seq } of this.client.chats.list()) {
                        if (last_seq > (this.#seen.get(id) ?? 0))
                            yield* this.#missed(id);
                    }
                if (lost === null)
                    yield { type: "connected" };
            }
            for (;;) {
                for (let frame = frames.shift(); frame; frame = frames.shift())
                    yield* this.#handle(frame);
                if (lost !== null)
                    throw lost;
                await arrived.wait();
            }
        }
        finally {
            clearInterval(timer);
            this.#socket = null;
            this.#lose = () => undefined;
            socket.close();
        }
    }
    async *#handle(frame) {
        const { type, chat_id: chatId, agent, message } = frame;
        if (type === "message" && message) {
            const next = (this.#seen?.get(chatId) ?? 0) + 1;
            if (message.seq > next)
                yield* this.#missed(chatId);
            else
                yield* this.#report(message);
        }
        else if (type === "resync")
            yield* this.#missed(chatId);
        else if (type === "delta" && agent) {
            yield* this.#drafts.add(chatId, agent, frame.n ?? 0, frame.text ?? "");
        }
        else if (type === "retract" && agent)
            yield* this.#drafts.void(chatId, agent);
        else if (type !== "pong") {
            const ended = type === "run" && (frame.status === "done" || frame.status === "failed");
            if (ended && agent)
                yield* this.#drafts.void(chatId, agent, ended);
            yield { type: "frame", frame };
        }
    }
    async *#missed(chatId) {
        const after = this.#seen?.get(chatId) ?? 0;
        try {
            for await (const message of this.client.messages.list(chatId, after))
                yield* this.#report(message);
        }
        catch (error) {
            if (!(error instanceof ApiError) || error.status !== NOT_FOUND)
                throw error;
        }
    }
    *#report(message) {
        if (message.seq <= (this.#seen?.get(message.chat_id) ?? 0))
            return;
        yield* this.#drafts.void(message.chat_id, message.sender, true);
        this.#seen?.set(message.chat_id, message.seq);
        yield { type: "message", message };
    }
}
class StorageError extends Error {
    name = "StorageError";
}
class MemoryStorage {
    #entries = [];
    async load() {
        return this.#entries;
    }
    async save(entries) {
        this.#entries = entries;
    }
}
class WebStorage {
    store;
    key;
    constructor(store, key = "skein-outbox") {
        this.store = store;
        this.key = key;
    }
    async load() {
        return JSON.parse(this.store.getItem(this.key) ?? "[]");
    }
    async save(entries) {
        this.store.setItem(this.key, JSON.stringify(entries));
    }
}
class Outbox {
    client;
    storage;
    options;
    #entries = [];
    #work = Promise.resolve();
    #flushes = Promise.resolve();
    #pause = new Pause();
    #forced = new Pause();
    #stopped = false;
    constructor(client, storage, options) {
        this.client = client;
        this.storage = storage;
        this.options = options;
    }
    static async open(client, storage, options = {}) {
        const outbox = new Outbox(client.withRetries(0), storage, options);
        outbox.#entries = await storage.load();
        return outbox;
    }
    get waiting() {
        return this.#entries;
    }
    async add(chatId, text, replyTo) {
        const clientId = crypto.randomUUID();
        const entry = replyTo === undefined ? { chatId, clientId, text } : { chatId, clientId, text, replyTo };
        await this.#change((entries) => [...entries, entry]);
        this.#pause.wake();
        return entry;
    }
    wake() {
        this.#pause.wake();
    }
    stop() {
        this.#stopped = true;
        this.#pause.wake();
        this.#forced.wake();
    }
    async run() {
        const backoff = new Backoff();
        while (!this.#stopped) {
            let pause;
            try {
                await this.flush();
                backoff.reset();
            }
            catch (error) {
                if (error instanceof ApiError && error.needsSignIn)
                    this.options.onSignIn?.(error);
                else if (error instanceof Unreachable)
                    pause = backoff.pause();
                else if (error instanceof ApiError) {
                    const atLeast = 1000 * (error.retryAfterSeconds ?? 0);
                    pause = Math.max(backoff.pause() - atLeast, 0);
                    if (atLeast > 0 && !this.#stopped)
                        await this.#forced.wait(atLeast);
                }
                else if (error instanceof StorageError) {
                    console.error("skein-client:", error.message, error.cause);
                    pause = backoff.pause();
                }
                else
                    throw error;
            }
            if (!this.#stopped)
                await this.#pause.wait(pause);
        }
    }
    flush() {
        const done = this.#flushes.then(() => this.#flush());
        this.#flushes = done.catch(() => undefined);
        return done;
    }
    async #flush() {
        const delayed = new Map();
        for (const entry of this.#entries) {
            if (delayed.has(entry.chatId))
                continue;
            const { chatId, clientId: client_id, text, replyTo: reply_to } = entry;
            const message = reply_to === undefined ? { text, client_id } : { text, client_id, reply_to };
            let posted;
            try {
                posted = await this.client.messages.send(chatId, message);
            }
            catch (error) {
                if (!(error instanceof ApiError) || error.needsSignIn)
                    throw error;
                if (error.isTemporary)
                    delayed.set(chatId, error);
                else {
                    await this.#forget(entry);
                    this.options.onRefused?.(entry, error);
                }
                continue;
            }
            await this.#forget(entry);
            this.options.onPosted?.(posted);
        }
        const seconds = (error) => error.retryAfterSeconds ?? 0;
        const [longest] = [...delayed.values()].sort((one, other) => seconds(other) - seconds(one));
        if (longest)
            throw longest;
    }
    #forget(entry) {
        return this.#change((entries) => entries.filter((each) => each.clientId !== entry.clientId));
    }
    #change(change) {
        const done = this.#work.then(async () => {
            const changed = change(this.#entries);
            try {
                await this.storage.save(changed);
            }
            catch (error) {
                throw new StorageError("the outbox could not save its messages", { cause: error });
            }
            this.#entries = changed;
        });
        this.#work = done.catch(() => undefined);
        return done;
    }
}
function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function")
            made.addEventListener(name, value);
        else if (value !== null && value !== false)
            made.setAttribute(name, value === true ? "" : String(value));
    }
    made.append(...children.flat().filter((child) => child !== null));
    return made;
}
function link(text, address, schemes = ["https:", "http:"]) {
    if (!URL.canParse(address) || !schemes.includes(new URL(address).protocol))
        return new Text(text);
    return el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}
const INLINE = /`([^`\n]{1,2000})`|\*\*([^*\n]{1,2000})\*\*|\*([^*\s][^*\n]{0,2000})\*|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>"]{1,2000})/g;
const ITEM = /^\s{0,6}(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;
function markdown(text) {
    const blocks = [];
    let paragraph = [];
    let list = null;
    const end = () => {
        if (paragraph.length > 0)
            blocks.push(el("p", {}, inline(paragraph.join("\n"))));
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
        }
        else if (item) {
            const tag = item[1] === undefined ? "ul" : "ol";
            if (list === null || list.localName !== tag) {
                end();
                list = tag === "ol" ? el("ol", { start: item[1] ?? 1 }) : el("ul");
                blocks.push(list);
            }
            list.append(el("li", {}, inline(item[2] ?? "")));
        }
        else if (heading) {
            end();
            blocks.push(el("p", {}, el("strong", {}, inline(heading[1] ?? ""))));
        }
        else if (line.trim() === "")
            end();
        else {
            if (list !== null)
                end();
            paragraph.push(line);
        }
    }
    end();
    return blocks;
}
function inline(text) {
    const found = [];
    let from = 0;
    for (const match of text.matchAll(INLINE)) {
        const [whole, code, strong, emphasis, label, address, bare] = match;
        found.push(...lined(text.slice(from, match.index)));
        from = match.index + whole.length;
        if (code !== undefined)
            found.push(el("code", {}, code));
        else if (strong !== undefined)
            found.push(el("strong", {}, inline(strong)));
        else if (emphasis !== undefined)
            found.push(el("em", {}, inline(emphasis)));
        else if (label !== undefined)
            found.push(link(label, address ?? ""));
        else {
            const url = (bare ?? "").replace(/[.,;:!?'")\]]+$/, "");
            from -= whole.length - url.length;
            found.push(link(url, url));
        }
    }
    found.push(...lined(text.slice(from)));
    return found;
}
function lined(text) {
    return text.split("\n").flatMap((line, index) => (index === 0 ? [new Text(line)] : [el("br"), new Text(line)]));
}
const WORDS = {
    open: "Open chat", close: "Close chat", unread: "{count} unread", menu: "More", loading: "Opening the chat",
    messages: "Messages", write: "Write a message", send: "Send", sending: "Sending", waits: "Waits to be sent",
    refused: "Not sent: {text} ({reason})", team: "Team", sources: "Sources", deleted: "A message was deleted.",
    working: "{name} is working on an answer", writing: "{name} is writing", silent: "No answer came. Please write again.",
    answered: "Answered: {answer}", expired: "This question has expired.", privacy: "Read more", agree: "I agree",
    offline: "You are offline. Your messages are kept here, and sent once you are back.",
    lost: "The connection was lost. It is being restored.", unreachable: "The chat could not be reached.", again: "Try again",
    unknown: "This chat is not available.", foreign: "This chat is not set up for this web site.",
    busy: "There are too many messages right now. Please try again later.", signedOut: "Please sign in again to go on.",
    ended: "This chat has ended. You can start a new one.", start: "Start a new chat", keep: "Keep it",
    end: "End and forget", endAsk: "End this chat, and remove it from this device?",
    forgotten: "This chat was removed from this device.",
    erase: "Delete this chat", eraseAsk: "Delete this chat and all its messages?",
    erasing: "This chat is being deleted. This takes a few minutes.", erased: "This chat was deleted.",
};
const WORD_ATTRIBUTES = Object.keys(WORDS).map(attributeOf);
function sayingOf(element) {
    return (word, values = {}) => (element.getAttribute(attributeOf(word)) ?? WORDS[word]).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
function attributeOf(word) {
    return `text-${word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
class Store {
    #area;
    #prefix;
    constructor(widget, remember) {
        this.#prefix = `skein:${widget}:`;
        this.#area = areaOf(remember);
    }
    get(name) {
        try {
            return JSON.parse(this.#area[this.#prefix + name] ?? "null");
        }
        catch {
            return null;
        }
    }
    set(name, value) { this.#area[this.#prefix + name] = JSON.stringify(value); }
    remove(name) { delete this.#area[this.#prefix + name]; }
    names(start = "") {
        const own = Object.keys(this.#area).filter((key) => key.startsWith(this.#prefix + start));
        return own.map((key) => key.slice(this.#prefix.length)).sort();
    }
    clear() { for (const name of this.names())
        this.remove(name); }
    watch(changed, signal) {
        addEventListener("storage", ({ key }) => {
            if (key === null || key.startsWith(this.#prefix))
                changed();
        }, { signal });
    }
}
const OUT = "out:";
class WaitingMessages {
    store;
    constructor(store) {
        this.store = store;
    }
    get all() {
        return this.store.names(OUT).map((name) => this.store.get(name)).filter((entry) => entry !== null);
    }
    add(text) {
        const clientId = crypto.randomUUID();
        this.store.set(`${OUT}${String(Date.now()).padStart(15, "0")}:${clientId}`, { clientId, text });
    }
    remove(done) {
        for (const name of this.store.names(OUT)) {
            if (done.some(({ clientId }) => name.endsWith(clientId)))
                this.store.remove(name);
        }
    }
}
function exclusively(name, work) {
    return "locks" in navigator ? navigator.locks.request(name, work) : work();
}
function areaOf(remember) {
    try {
        if (remember === "local")
            return localStorage;
        if (remember === "session")
            return sessionStorage;
    }
    catch {
    }
    return {};
}
const FRESH_MS = 50 * 60_000;
const ENDED = "visit_ended";
class Writer {
    agreed = null;
    renewed = () => undefined;
    get erasing() { return false; }
    started() { }
    expire() { return false; }
    async erase() { return false; }
}
function isOver(error) {
    return error instanceof ApiError && error.code === ENDED;
}
class Visitor extends Writer {
    api;
    widget;
    store;
    isVisit = true;
    client;
    constructor(api, widget, store) {
        super();
        this.api = api;
        this.widget = widget;
        this.store = store;
        this.client = new Client(api, () => this.#token());
        this.agreed = this.#kept?.consent ?? null;
    }
    get #kept() { return this.store.get("visit"); }
    get chatId() {
        const kept = this.#kept;
        return kept?.started ? kept.chat_id : null;
    }
    get erasing() { return this.#kept?.erasing ?? false; }
    async begin() {
        const kept = this.#kept;
        if (kept !== null && (kept.started || kept.until > Date.now()))
            return kept.chat_id;
        return (await this.#visit(kept?.renewal)).chat_id;
    }
    started() {
        if (!this.#kept?.started)
            this.#keep({ started: true });
    }
    expire() {
        this.#keep({ until: 0 });
        return true;
    }
    async end() {
        const kept = this.#kept;
        this.store.clear();
        if (kept === null || !kept.started)
            return;
        const { token } = kept.until > Date.now() ? kept : await this.#ask(kept.renewal);
        await new Client(this.api, token).call("POST", "/v1/visit/end");
    }
    async erase() {
        const method = this.erasing ? "GET" : "DELETE";
        const { status } = await this.client.call(method, "/v1/visit");
        this.#keep({ erasing: true });
        return status === "erased";
    }
    #keep(change) {
        const kept = this.#kept;
        if (kept !== null)
            this.store.set("visit", { ...kept, ...change });
    }
    async #token() {
        return exclusively(`skein-visit:${this.widget}`, async () => {
            const kept = this.#kept;
            if (kept === null)
                throw new ApiError(401, ENDED, "there is no visit");
            if (kept.until > Date.now() || kept.erasing)
                return kept.token;
            return (await this.#visit(kept.renewal)).token;
        });
    }
    #ask(spent) {
        const body = { renewal: spent, consent: this.agreed ?? undefined };
        const path = `/v1/widgets/${encodeURIComponent(this.widget)}/visits`;
        return new Client(this.api, null, undefined, 0).call("POST", path, body);
    }
    async #visit(spent) {
        const { token, renewal, chat_id, started } = await this.#ask(spent).catch((error) => {
            if (!(error instanceof ApiError) || error.status !== 401)
                throw error;
            this.store.remove("visit");
            throw new ApiError(401, ENDED, error.detail);
        });
        const kept = { token, renewal, chat_id, started, consent: this.agreed, until: Date.now() + FRESH_MS };
        this.store.set("visit", kept);
        if (spent !== undefined)
            this.renewed();
        return kept;
    }
}
class KnownPerson extends Writer {
    widget;
    client;
    isVisit = false;
    chatId = null;
    constructor(api, token, widget) {
        super();
        this.widget = widget;
        this.client = new Client(api, token);
    }
    async begin() {
        const members = [{ kind: "agent", id: this.widget.agent_id }];
        const body = { kind: "direct", client_id: `web:${this.widget.id}`, members };
        this.chatId ??= (await this.client.call("POST", "/v1/chats", body)).id;
        return this.chatId;
    }
}
const NEWEST = 100;
const POLL_MS = 4_000;
const AGAIN_MS = 5_000;
function noticeOf(error) {
    if (!(error instanceof ApiError))
        return { word: navigator.onLine ? "unreachable" : "offline" };
    if (error.status === 429)
        return { word: "busy", ways: (error.details["ways"] ?? []) };
    if (error.status === 404)
        return { word: "unknown" };
    if (isOver(error))
        return { word: "ended" };
    if (error.status === 401)
        return { word: "signedOut" };
    return { word: error.status === 403 ? "foreign" : "unreachable" };
}
class Talk {
    writer;
    store;
    widget;
    chat;
    messages = new Map();
    drafts = new Map();
    notice = null;
    connected = false;
    #waiting;
    #end = new AbortController();
    #outbox = new Pause();
    #again = new Pause();
    #live = null;
    #following = null;
    #read = 0;
    #seen = 0;
    #loaded = false;
    #erases = false;
    constructor(writer, store, widget, chat) {
        this.writer = writer;
        this.store = store;
        this.widget = widget;
        this.chat = chat;
        this.#waiting = new WaitingMessages(store);
        writer.renewed = () => this.#live?.stop();
        const { signal } = this.#end;
        addEventListener("online", () => this.#wake(), { signal });
        addEventListener("offline", () => this.#say({ word: "offline" }), { signal });
        store.watch(() => this.#synchronize(), signal);
        const timer = setInterval(() => void this.#poll(), POLL_MS);
        signal.addEventListener("abort", () => clearInterval(timer));
    }
    get waiting() { return this.#waiting.all; }
    get last() { return Math.max(0, ...this.messages.keys()); }
    get asks() {
        const required = this.writer.isVisit && (this.widget.consent?.required ?? false);
        return required && this.writer.agreed !== this.widget.consent_version;
    }
    start() {
        void this.#deliver();
        this.#synchronize();
    }
    stop() {
        this.#end.abort();
        this.#live?.stop();
        this.#again.wake();
        this.#outbox.wake();
    }
    send(text) {
        try {
            this.#waiting.add(text);
        }
        catch (error) {
            return this.#say({ word: "refused", values: { text, reason: String(error) } });
        }
        this.chat.changed();
        this.#outbox.wake();
    }
    agree() {
        this.writer.agreed = this.widget.consent_version;
        this.#synchronize();
    }
    async answer(message, answer) {
        try {
            await this.writer.client.choices.answer(message.chat_id, { seq: message.seq, ...answer });
        }
        catch (error) {
            if (!(error instanceof ApiError) || error.status !== 409)
                this.#failed(error, new Backoff());
        }
        await this.#fetch({ after: message.seq - 1, limit: 1 }).catch(() => undefined);
    }
    markRead() {
        const { last } = this;
        if (this.#following === null || last <= this.#seen)
            return;
        this.#seen = last;
        this.writer.client.messages.markRead(this.#following, last).catch(() => undefined);
    }
    async erase() {
        if (this.#erases)
            return;
        this.#erases = true;
        this.#live?.stop();
        this.#clear({ word: "erasing" });
        for (const backoff = new Backoff(); !this.#end.signal.aborted;) {
            try {
                if (await this.writer.erase())
                    break;
                await this.#again.wait(AGAIN_MS);
            }
            catch (error) {
                if (this.writer.erasing && error instanceof ApiError && error.status === 401)
                    break;
                const pause = this.#failed(error, backoff);
                if (pause === undefined)
                    return;
                await this.#again.wait(pause);
            }
        }
        if (this.#end.signal.aborted)
            return;
        this.store.clear();
        this.#say({ word: "erased" });
    }
    async #deliver() {
        const backoff = new Backoff();
        while (!this.#end.signal.aborted) {
            let pause;
            try {
                if (this.waiting.length > 0 && !this.writer.erasing && !this.asks)
                    await exclusively(`skein-send:${this.widget.id}`, () => this.#flush());
                backoff.reset();
            }
            catch (error) {
                pause = this.#failed(error, backoff);
            }
            this.chat.changed();
            await this.#outbox.wait(pause);
        }
    }
    async #flush() {
        if (this.waiting.length === 0 || this.#end.signal.aborted)
            return;
        const chatId = await this.writer.begin();
        const entries = this.waiting.map((entry) => ({ ...entry, chatId }));
        const storage = {
            load: async () => entries,
            save: async (left) => this.#waiting.remove(entries.filter((entry) => !left.includes(entry))),
        };
        const outbox = await Outbox.open(this.writer.client, storage, {
            onPosted: (message) => {
                this.writer.started();
                this.notice = null;
                this.#loaded ||= this.#following === null;
                this.#add(message);
                void this.#follow(chatId);
            },
            onRefused: ({ text }, { detail }) => this.#say({ word: "refused", values: { text, reason: detail } }),
        });
        await outbox.flush();
    }
    #failed(error, backoff) {
        const refused = error instanceof ApiError ? error : null;
        if (refused !== null && refused.details["consent_version"] !== undefined) {
            setTimeout(() => this.#end.signal.aborted || this.chat.restart(), AGAIN_MS);
            return undefined;
        }
        if (refused?.status === 401 && !isOver(error) && this.writer.expire())
            return backoff.pause();
        this.#say(noticeOf(error));
        if (isOver(error))
            this.stop();
        if (isOver(error) || refused?.status === 403 || refused?.status === 404)
            return undefined;
        return Math.max(backoff.pause(), 1000 * (refused?.retryAfterSeconds ?? 0));
    }
    async #follow(chatId) {
        if (this.#following !== null)
            return;
        this.#following = chatId;
        const { client } = this.writer;
        const backoff = new Backoff();
        while (!this.#end.signal.aborted && !this.writer.erasing) {
            try {
                if (!this.#loaded)
                    await this.#fetch({});
                this.#loaded = true;
                this.connected = false;
                this.drafts.clear();
                this.#live = new Live(client, { chatId, seen: { [chatId]: this.#read } });
                for await (const event of this.#live.events())
                    this.#hear(event);
            }
            catch (error) {
                if (this.#end.signal.aborted)
                    return;
                const pause = this.#failed(error, backoff);
                if (pause === undefined)
                    return;
                await this.#again.wait(pause);
            }
        }
    }
    #hear(event) {
        if (event.type === "message") {
            this.#add(event.message);
            this.#read = event.message.seq;
        }
        else if (event.type === "draft") {
            if (event.text === "")
                this.drafts.delete(event.agent.id);
            else
                this.drafts.set(event.agent.id, { name: event.agent.name, text: event.text });
        }
        else if (event.type === "frame") {
            const { type, status, agent, message } = event.frame;
            if (type === "changed" && message)
                this.messages.set(message.seq, message);
            if (type === "run" && agent)
                this.#ran(agent, status);
        }
        else {
            this.connected = event.type === "connected";
            if (this.connected)
                this.notice = null;
            else {
                this.drafts.clear();
                void this.#poll();
            }
        }
        this.chat.changed();
    }
    #ran(agent, status) {
        if (status === "working" && !this.drafts.has(agent.id))
            this.drafts.set(agent.id, { name: agent.name, text: "" });
        if (status === "done" || status === "failed")
            this.drafts.delete(agent.id);
        if (status === "failed")
            this.#say({ word: "silent" });
    }
    async #poll() {
        if (this.connected || this.#following === null || this.writer.erasing || document.hidden)
            return;
        try {
            await this.#fetch({ after: this.#read });
            if (this.notice?.word === "lost" || this.notice?.word === "offline")
                this.#say(null);
        }
        catch (error) {
            if (!(error instanceof ApiError))
                this.#say({ word: navigator.onLine ? "lost" : "offline" });
        }
    }
    async #fetch(query) {
        const path = `/v1/chats/${encodeURIComponent(this.#following ?? "")}/messages`;
        const page = await this.writer.client.call("GET", path, undefined, { limit: NEWEST, ...query });
        for (const message of page.items)
            this.#add(message);
        if (query.limit === undefined)
            this.#read = Math.max(this.#read, page.items.at(-1)?.seq ?? 0);
    }
    #add(message) {
        const isNew = this.#loaded && !this.messages.has(message.seq);
        this.messages.set(message.seq, message);
        this.drafts.delete(message.sender.id);
        if (isNew && message.sender.kind !== "user")
            this.chat.arrived(message);
        this.chat.changed();
    }
    #clear(notice) {
        this.messages.clear();
        this.drafts.clear();
        this.#say(notice);
    }
    #say(notice) {
        this.notice = notice;
        this.chat.changed();
    }
    #wake() {
        this.#say(null);
        this.#outbox.wake();
        this.#again.wake();
        void this.#poll();
    }
    #synchronize() {
        const { chatId } = this.writer;
        if (this.writer.erasing)
            void this.erase();
        else if (chatId === null && this.#following !== null) {
            this.stop();
            this.#clear({ word: "forgotten" });
        }
        else if (chatId !== null && !this.asks)
            void this.#follow(chatId);
        this.#outbox.wake();
        this.chat.changed();
    }
}
const STYLE = `
:host { all: initial !important; position: fixed !important; z-index: 2147483000 !important;
  inset-block-end: var(--skein-offset, 20px) !important; inset-inline-end: var(--skein-offset, 20px) !important; }
:host([hidden]) { display: none !important; }
.root { color-scheme: light dark; --own: var(--skein-color, var(--widget-color, #0b57d0));
  --on: var(--skein-on-color, var(--widget-on-color, #fff)); --back: var(--skein-background, light-dark(#fff, #1c1d21));
  --ink: var(--skein-text, light-dark(#1b1c1f, #ececf0)); --faint: light-dark(#5a5d66, #b3b6c0);
  --line: light-dark(#c9ccd4, #45474f); --bubble: light-dark(#eef0f4, #2b2d34); --round: var(--skein-radius, 14px);
  font: 16px/1.45 var(--skein-font, system-ui, sans-serif); color: var(--ink); text-align: start; }
.root[data-scheme=light] { color-scheme: light; } .root[data-scheme=dark] { color-scheme: dark; }
.root[data-side=start] { position: fixed; inset-block-end: var(--skein-offset, 20px);
  inset-inline-start: var(--skein-offset, 20px); }
* { box-sizing: border-box; } p, ol, ul, pre { margin: 0; } [hidden] { display: none !important; }
button, textarea, input { font: inherit; color: inherit; } button { cursor: pointer; }
button { background: none; border: 1px solid var(--line); border-radius: 10px; padding: 8px 12px; min-block-size: 40px; }
button.own { background: var(--own); border-color: var(--own); color: var(--on); }
button.bare { border-color: transparent; }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
a { color: inherit; text-decoration: underline; overflow-wrap: anywhere; }
.sr { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.launcher { position: relative; display: grid; place-items: center; inline-size: 56px; block-size: 56px; padding: 0;
  margin-inline-start: auto; border-radius: 50%; box-shadow: 0 4px 14px #0005; }
.root:not(.opened) .launcher::before { content: ""; inline-size: 26px; block-size: 20px; border: 3px solid; border-radius: 10px 10px 10px 2px; }
.badge { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-inline-size: 22px; padding: 0 5px;
  border-radius: 11px; background: #b3261e; color: #fff; font-size: 13px; text-align: center; }
.panel { display: flex; flex-direction: column; inline-size: min(400px, calc(100vw - 40px)); margin-block-end: 12px;
  block-size: min(640px, calc(100dvh - 110px)); background: var(--back); border: 1px solid var(--line);
  border-radius: var(--round); box-shadow: 0 10px 40px #0005; overflow: hidden; }
header { display: flex; align-items: center; gap: 4px; padding: 8px 8px 8px 16px; background: var(--own); color: var(--on); }
header h2 { flex: 1; margin: 0; font-size: 17px; overflow-wrap: anywhere; } header :focus-visible { outline-color: var(--on); }
.body { flex: 1; overflow-y: auto; padding: 14px; display: flex; flex-direction: column; gap: 10px; overscroll-behavior: contain; }
ol.log { list-style: none; padding: 0; display: flex; flex-direction: column; gap: 10px; }
ol.log > li { max-inline-size: 88%; align-self: flex-start; overflow-wrap: anywhere; }
ol.log > li.mine { align-self: flex-end; }
.consent { display: grid; gap: 8px; }
.bubble { padding: 9px 13px; border-radius: var(--round); background: var(--bubble); display: grid; gap: 8px; }
.mine .bubble { background: var(--own); color: var(--on); white-space: pre-wrap; }
.bubble ul, .bubble ol { padding-inline-start: 22px; } pre { overflow-x: auto; padding: 8px; border: 1px solid var(--line); }
.meta, .notice { color: var(--faint); font-size: 14px; } ol.log > li.notice { align-self: center; text-align: center; }
.row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.told { padding: 10px 14px; border-block-start: 1px solid var(--line); display: grid; gap: 8px; max-block-size: 50%; overflow-y: auto; }
form { display: flex; gap: 8px; align-items: end; padding: 10px; border-block-start: 1px solid var(--line); }
textarea { flex: 1; min-inline-size: 0; resize: none; field-sizing: content; max-block-size: 30vh; padding: 9px 12px; border: 1px solid var(--faint);
  border-radius: 10px; background: transparent; }
.dots::after { content: "\\2026"; }
@media (max-width: 480px), (max-height: 480px) {
  .panel { position: fixed; inset: auto 0 auto 0; inset-block-start: var(--top, 0px); block-size: var(--seen, 100dvh); inline-size: 100%;
    margin: 0; border: 0; border-radius: 0; } .root.opened .launcher { display: none; } }
@media (prefers-reduced-motion: no-preference) {
  .panel { animation: rise 0.16s ease-out; } @keyframes rise { from { transform: translateY(8px); opacity: 0; } }
  .dots::after { animation: blink 1.2s infinite; } @keyframes blink { 50% { opacity: 0.2; } } }
@media (forced-colors: active) { header, .bubble, .badge { border: 1px solid; } }
`;
const LONGEST = 4_000;
const WAYS = ["https:", "tel:", "mailto:", "sms:"];
const ANNOUNCED_MS = 20_000;
const NEAR_END = 80;
class Panel {
    host;
    root;
    text;
    #log;
    #body;
    #form;
    #menu;
    #title = el("h2", { id: "title" });
    #asked = el("div", { class: "told", hidden: true });
    #told = el("div", { class: "told", hidden: true });
    #status = el("p", { class: "sr", role: "status" });
    #announcer = el("div", { class: "sr", "aria-live": "polite", "aria-relevant": "additions" });
    #rows = new Map();
    constructor(host) {
        this.host = host;
        const { say } = host;
        this.#menu = el("button", { type: "button", class: "bare", "aria-expanded": "false", "aria-label": say("menu"),
            click: () => this.#openMenu(this.#asked.hidden) }, "\u22ef");
        const close = el("button", { type: "button", class: "bare", "aria-label": say("close"), click: () => host.close() }, "\u2715");
        this.#log = el("ol", { class: "log", role: "list", "aria-label": say("messages") });
        this.#body = el("div", { class: "body", tabindex: 0, role: "region", "aria-label": say("messages") }, this.#log);
        this.text = el("textarea", { rows: 1, maxlength: LONGEST, "aria-label": say("write"), placeholder: say("write"),
            enterkeyhint: "send", keydown: (event) => this.#key(event) });
        this.#form = el("form", { submit: (event) => this.#submit(event) }, this.text, el("button", { class: "own" }, say("send")));
        this.root = el("section", { class: "panel", role: "dialog", "aria-labelledby": "title", keydown: (event) => this.#escape(event) }, el("header", {}, this.#title, this.#menu, close), this.#asked, this.#body, this.#told, this.#form, this.#status, this.#announcer);
    }
    show() {
        const { talk, widget, notice, say } = this.host;
        const focused = this.focused();
        this.#title.textContent = widget?.name ?? say("loading");
        const told = notice ?? talk?.notice ?? null;
        const over = told !== null && ["ended", "erasing", "erased", "forgotten"].includes(told.word);
        const asks = this.#consent();
        this.#menu.hidden = talk === null || !talk.writer.isVisit || talk.last === 0 || over;
        this.#form.hidden = widget === null || over || (talk?.asks ?? false);
        const atEnd = this.#body.scrollHeight - this.#body.scrollTop - this.#body.clientHeight < NEAR_END;
        this.#replace(this.#log, this.#list());
        const content = [asks, told === null ? null : this.#notice(told)].filter((each) => each !== null);
        this.#told.hidden = content.length === 0;
        if (this.#told.textContent !== content.map((each) => each.textContent).join(""))
            this.#told.replaceChildren(...content);
        const said = told === null ? (widget === null ? say("loading") : "") : say(told.word, told.values);
        if (this.#status.textContent !== said)
            this.#status.textContent = said;
        if (atEnd)
            this.#body.scrollTop = this.#body.scrollHeight;
        if (focused !== null && !(focused.isConnected && focused.checkVisibility()))
            this.focus();
    }
    focused() {
        const { activeElement = null } = this.root.getRootNode();
        return this.root.contains(activeElement) ? activeElement : null;
    }
    announce(message) {
        const said = el("p", {}, `${this.#nameOf(message)}: `, ...markdown(message.choice?.question ?? message.text));
        this.#announcer.append(said);
        setTimeout(() => said.remove(), ANNOUNCED_MS);
    }
    focus() {
        if (!this.#form.hidden)
            this.text.focus();
        else
            (this.#told.querySelector("button") ?? this.#body).focus();
    }
    #list() {
        const { talk, widget, say } = this.host;
        if (widget === null)
            return [];
        const rows = [];
        const add = (key, of, make) => {
            const known = this.#rows.get(key);
            const row = known !== undefined && known.of === of ? known.row : make();
            this.#rows.set(key, { of, row });
            rows.push(row);
        };
        if (widget.greeting)
            add("greeting", widget.greeting, () => said(widget.name, markdown(widget.greeting ?? "")));
        const isNew = talk === null || (talk.last === 0 && talk.waiting.length === 0);
        if (isNew && widget.starters.length > 0 && !(talk?.asks ?? false))
            add("starters", widget, () => this.#starters(widget.starters));
        if (talk === null)
            return rows;
        const messages = [...talk.messages.values()].sort((one, other) => one.seq - other.seq);
        for (const message of messages)
            add(`${message.seq}`, message, () => this.#row(message));
        const posted = new Set(messages.map(({ client_id }) => client_id));
        for (const { clientId, text } of talk.waiting) {
            if (posted.has(clientId))
                continue;
            const state = navigator.onLine && talk.notice === null ? say("sending") : say("waits");
            add(clientId, state, () => mine(text, state));
        }
        for (const [id, { name, text }] of talk.drafts) {
            add(`draft ${id}`, text, () => (text === ""
                ? el("li", { class: "meta dots" }, say("working", { name }))
                : said(say("writing", { name }), markdown(text), true)));
        }
        return rows;
    }
    #row(message) {
        const { say } = this.host;
        if (message.kind === "deleted" || message.kind === "erased")
            return el("li", { class: "notice" }, say("deleted"));
        if (message.kind === "notice")
            return el("li", { class: "notice" }, message.text);
        if (message.sender.kind === "user")
            return mine(message.text, "");
        const { choice } = message;
        return said(this.#nameOf(message), choice ? [el("p", {}, choice.question), this.#choice(message)] : [...markdown(message.text), this.#sources(message)]);
    }
    #nameOf({ sender }) {
        const { say, widget } = this.host;
        if (sender.kind !== "team")
            return sender.name || (widget?.name ?? "");
        return sender.name ? `${sender.name} (${say("team")})` : say("team");
    }
    #choice(message) {
        const { say, talk } = this.host;
        const { choice } = message;
        if (choice?.status === "expired")
            return el("p", { class: "meta" }, say("expired"));
        if (choice?.status !== "open") {
            const label = choice?.options.find(({ id }) => id === choice.answer?.option)?.label ?? "\u2713";
            return el("p", { class: "meta" }, say("answered", { answer: label }));
        }
        const answer = async (given) => {
            for (const button of buttons)
                button.disabled = true;
            await talk?.answer(message, given);
            for (const button of buttons)
                button.disabled = false;
            this.text.focus();
        };
        const field = el("textarea", { rows: 1, maxlength: LONGEST, "aria-label": choice.question });
        const buttons = choice.options.map(({ id, label }) => el("button", { type: "button", click: () => answer({ option: id }) }, label));
        if (buttons.length === 0) {
            buttons.push(el("button", { type: "button", click: () => field.value.trim() && answer({ text: field.value.trim() }) }, say("send")));
        }
        return el("div", { class: "row", role: "group", "aria-label": choice.question }, choice.options.length > 0 ? null : field, buttons);
    }
    #sources({ sources }) {
        const places = new Map((sources ?? []).map(({ place, url }) => [`${place} ${url}`, link(place || (url ?? ""), url ?? "")]));
        if (places.size === 0)
            return null;
        return el("div", { class: "meta" }, this.host.say("sources"), el("ul", {}, [...places.values()].map((each) => el("li", {}, each))));
    }
    #starters(starters) {
        return el("li", { class: "row" }, starters.map((text) => el("button", { type: "button", click: () => this.#send(text) }, text)));
    }
    #consent() {
        const { talk, widget, say } = this.host;
        if (!talk || !widget?.consent || !talk.writer.isVisit)
            return null;
        const { text, url } = widget.consent;
        const { asks } = talk;
        if (!asks && (talk.last > 0 || talk.writer.agreed !== null))
            return null;
        const agree = el("button", { type: "button", class: "own", click: () => {
                talk.agree();
                this.focus();
            } }, say("agree"));
        return el("div", { class: "consent" }, el("p", {}, text, " ", url ? link(say("privacy"), url) : null), asks ? el("div", { class: "row" }, agree) : null);
    }
    #notice({ word, values, ways = [] }) {
        const { host } = this;
        const over = ["ended", "erased", "forgotten"].includes(word);
        const again = ["unreachable", "unknown", "foreign"].includes(word);
        const act = el("button", { type: "button", class: over && "own", click: () => host.restart() }, host.say(over ? "start" : "again"));
        return el("div", {}, el("p", {}, host.say(word, values)), el("div", { class: "row" }, ways.map(({ label, url }) => link(label, url, WAYS)), over || again ? act : null));
    }
    #openMenu(open, ask = this.#actions()) {
        this.#asked.hidden = !open;
        this.#menu.setAttribute("aria-expanded", String(open));
        this.#asked.replaceChildren(el("div", { class: "row" }, open ? ask : []));
        (open ? this.#asked.querySelector("button") : this.#menu)?.focus();
    }
    #actions() {
        const { host } = this;
        const actions = [["end", "endAsk", () => host.end()], ["erase", "eraseAsk", () => void host.talk?.erase()]];
        return actions.map(([name, question, act]) => el("button", { type: "button", click: () => this.#openMenu(true, [
                el("p", {}, host.say(question)),
                el("button", { type: "button", click: () => this.#openMenu(false) }, host.say("keep")),
                el("button", { type: "button", class: "own", click: () => {
                        this.#openMenu(false);
                        act();
                        this.focus();
                    } }, host.say(name)),
            ]) }, host.say(name)));
    }
    #key(event) {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing)
            return;
        event.preventDefault();
        this.#form.requestSubmit();
    }
    #escape(event) {
        if (event.key !== "Escape")
            return;
        event.stopPropagation();
        if (this.#asked.hidden)
            this.host.close();
        else
            this.#openMenu(false);
    }
    #submit(event) {
        event.preventDefault();
        this.#send(this.text.value.trim());
    }
    #send(text) {
        const { talk, preview } = this.host;
        if (text === "" || talk === null || preview !== null)
            return;
        talk.send(text);
        this.text.value = "";
        this.text.focus();
        this.#body.scrollTop = this.#body.scrollHeight;
    }
    #replace(list, rows) {
        const wanted = new Set(rows);
        for (const child of [...list.children])
            if (!wanted.has(child))
                child.remove();
        rows.forEach((row, at) => {
            if (list.children[at] !== row)
                list.insertBefore(row, list.children[at] ?? null);
        });
    }
}
function said(name, content, busy = false) {
    return el("li", { "aria-busy": busy }, el("p", { class: "meta" }, name), el("div", { class: "bubble", dir: "auto" }, content));
}
function mine(text, state) {
    return el("li", { class: "mine" }, el("div", { class: "bubble", dir: "auto" }, text), state === "" ? null : el("p", { class: "meta" }, state));
}
const SCRIPT = document.currentScript;
const LOOKS = ["color", "scheme", "side"];
class SkeinChat extends HTMLElement {
    static observedAttributes = ["widget", ...LOOKS, ...WORD_ATTRIBUTES];
    say = sayingOf(this);
    talk = null;
    widget = null;
    notice = null;
    preview = null;
    #root = null;
    #launcher = el("button", { type: "button", class: "launcher own", click: () => (this.isOpen ? this.close() : this.open()) });
    #panel = null;
    #before = null;
    #unread = 0;
    #token = null;
    #session = 0;
    #off = new AbortController();
    connectedCallback() {
        const early = Object.getOwnPropertyDescriptor(this, "token");
        delete this.token;
        if (early !== undefined)
            this.token = early.value;
        if (this.#root === null) {
            const shadow = this.attachShadow({ mode: "closed" });
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(STYLE);
            shadow.adoptedStyleSheets = [sheet];
            this.#root = el("div", { class: "root" }, this.#launcher);
            shadow.append(this.#root);
        }
        this.#off = new AbortController();
        const { signal } = this.#off;
        visualViewport?.addEventListener("resize", () => this.#fit(), { signal });
        visualViewport?.addEventListener("scroll", () => this.#fit(), { signal });
        document.addEventListener("visibilitychange", () => this.changed(), { signal });
        this.changed();
    }
    disconnectedCallback() {
        this.#off.abort();
        this.#leave();
    }
    attributeChangedCallback(name) {
        if (this.#root === null)
            return;
        if (name === "widget")
            this.restart();
        else if (name.startsWith("text-"))
            this.#rebuild();
        this.changed();
    }
    get token() { return this.#token; }
    set token(token) {
        const before = this.#token;
        this.#token = token;
        if (before === token)
            return;
        if (token === null)
            this.#forget();
        this.restart();
    }
    get isOpen() { return this.#panel !== null && !this.#panel.root.hidden; }
    open() {
        if (this.#root === null)
            return;
        if (this.isOpen)
            return this.#panel?.focus();
        this.#before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
        if (this.#panel === null)
            this.#root.prepend((this.#panel = new Panel(this)).root);
        this.#panel.root.hidden = false;
        if (this.talk === null)
            void this.#begin();
        this.#fit();
        this.changed();
        this.#panel.focus();
        this.#tell("open");
    }
    close() {
        if (!this.isOpen || this.#panel === null)
            return;
        this.#panel.root.hidden = true;
        this.changed();
        const back = this.#before?.isConnected && this.#before !== this && this.#before !== document.body;
        (back ? this.#before : this.#launcher)?.focus();
        this.#tell("close");
    }
    restart() {
        this.#leave();
        if (this.isOpen)
            void this.#begin();
        this.changed();
    }
    end() {
        const { widget } = this;
        this.#forget();
        this.#leave();
        this.widget = widget;
        this.notice = { word: "forgotten" };
        this.changed();
    }
    #store() { return new Store(this.#id, this.getAttribute("remember") ?? "local"); }
    get #id() { return this.getAttribute("widget") ?? ""; }
    #api() { return this.getAttribute("api") ?? new URL(SCRIPT?.src ?? location.href).origin; }
    async #begin() {
        const session = (this.#session += 1);
        try {
            const path = `/v1/widgets/${encodeURIComponent(this.#id)}/public`;
            const widget = this.preview ?? (await new Client(this.#api(), null).call("GET", path));
            if (session !== this.#session)
                return;
            const store = this.#token === null ? this.#store() : new Store(this.#id, "none");
            const writer = this.#token === null ? new Visitor(this.#api(), this.#id, store)
                : new KnownPerson(this.#api(), this.#token, widget);
            if (this.preview === null && !writer.isVisit)
                await writer.begin();
            if (session !== this.#session)
                return;
            this.widget = widget;
            this.notice = null;
            this.talk = new Talk(writer, store, widget, this);
            if (this.preview === null)
                this.talk.start();
        }
        catch (error) {
            if (session !== this.#session)
                return;
            this.notice = noticeOf(error);
            this.#tell("error", { word: this.notice.word });
        }
        this.changed();
        if (this.#panel?.focused())
            this.#panel.focus();
    }
    #leave() {
        this.#session += 1;
        this.talk?.stop();
        this.talk = this.widget = this.notice = null;
        this.#unread = 0;
        this.#rebuild();
    }
    #rebuild() {
        const { isOpen } = this;
        const focused = this.#panel?.focused();
        this.#panel?.root.remove();
        this.#panel = null;
        if (!isOpen || !this.isConnected)
            return;
        const panel = (this.#panel = new Panel(this));
        this.#root?.prepend(panel.root);
        this.changed();
        if (focused)
            panel.focus();
    }
    #forget() {
        new Visitor(this.#api(), this.#id, this.#store()).end().catch(() => undefined);
    }
    arrived(message) {
        if (this.isOpen && !document.hidden)
            this.#panel?.announce(message);
        else
            this.#unread += 1;
        this.#tell("message", { seq: message.seq, from: message.sender.kind });
    }
    changed() {
        if (this.#root === null)
            return;
        const { isOpen, say, widget } = this;
        const seen = isOpen && !document.hidden;
        if (seen)
            this.#unread = 0;
        if (seen)
            this.talk?.markRead();
        const unread = this.#unread > 0 ? `, ${say("unread", { count: this.#unread })}` : "";
        this.#launcher.setAttribute("aria-label", say(isOpen ? "close" : "open") + unread);
        this.#launcher.setAttribute("aria-expanded", String(isOpen));
        this.#launcher.replaceChildren(isOpen ? "\u2715" : "", this.#unread > 0 ? el("span", { class: "badge" }, String(this.#unread)) : "");
        this.#root.classList.toggle("opened", isOpen);
        const [color, scheme, side] = LOOKS.map((name) => this.getAttribute(name) ?? widget?.theme[name] ?? null);
        this.#root.dataset["scheme"] = scheme ?? "auto";
        this.#root.dataset["side"] = side ?? "end";
        const own = /^#(?:[0-9a-f]{3}){1,2}$/i.test(color ?? "") ? (color ?? "") : "";
        this.#root.style.setProperty("--widget-color", own || null);
        this.#root.style.setProperty("--widget-on-color", own ? readableOn(own) : null);
        this.#panel?.show();
    }
    #fit() {
        if (!visualViewport || this.#root === null)
            return;
        this.#root.style.setProperty("--top", `${visualViewport.offsetTop}px`);
        this.#root.style.setProperty("--seen", `${visualViewport.height}px`);
    }
    #tell(name, detail = {}) {
        this.dispatchEvent(new CustomEvent(`skein-${name}`, { detail, bubbles: true, composed: true }));
    }
}
function readableOn(color) {
    const digits = color.length === 4 ? color.replace(/[0-9a-f]/gi, "$&$&") : color;
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => (Number.parseInt(digits.slice(at, at + 2), 16) / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
}
function define() {
    if (customElements.get("skein-chat") === undefined)
        customElements.define("skein-chat", SkeinChat);
}
if ("requestIdleCallback" in window)
    requestIdleCallback(define, { timeout: 3_000 });
else
    setTimeout(define, 200);
})();
