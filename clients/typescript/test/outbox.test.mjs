import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, mock, test } from "node:test";
import { ApiError, Client, MemoryStorage, Outbox, Unreachable, WebStorage } from "../dist/index.js";
import { FileStorage } from "../dist/node.js";
import { FakeApi, pass, settle } from "./fake_api.mjs";

const client = new Client("http://api.test", "token");
const OFFLINE = new TypeError("fetch failed");
let api, outbox;

beforeEach(() => {
  api = new FakeApi().install();
  outbox = null;
});
afterEach(async () => {
  outbox?.stop();
  await settle();
  api.uninstall();
});

/** Open an outbox, and have it send in the background. */
async function start(options = {}, storage = new MemoryStorage(), of = client) {
  outbox = await Outbox.open(of, storage, options);
  void outbox.run();
  await settle();
}
const ids = () => api.posted.map(({ client_id }) => client_id);
const texts = (entries) => entries.map(({ text }) => text);

/** A `localStorage`. */
function localStorage() {
  const items = new Map();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value) };
}

test("outbox_offline_keeps_order_and_client_ids_for_the_next_process", async () => {
  const store = localStorage();
  const first = await Outbox.open(client, new WebStorage(store));
  const one = await first.add("chat_1", "one");
  const two = await first.add("chat_1", "two", 3);
  api.refusals = [OFFLINE];
  await assert.rejects(first.flush(), Unreachable);
  const later = await Outbox.open(client, new WebStorage(store));
  assert.deepEqual(later.waiting, [one, two]);
  await later.flush();
  assert.deepEqual(ids(), [one.clientId, one.clientId, two.clientId]);
  assert.deepEqual(api.posted.at(-1), { text: "two", client_id: two.clientId, reply_to: 3 });
  assert.deepEqual(await new WebStorage(store).load(), []);
});

test("outbox_in_a_file_survives_the_process_and_is_readable_by_its_owner_only", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "outbox-"));
  context.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "outbox.json");
  const first = await Outbox.open(client, new FileStorage(path));
  const entry = await first.add("chat_1", "one");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), [entry]);
  const later = await Outbox.open(client, new FileStorage(path));
  await later.flush();
  assert.deepEqual(api.texts, ["one"]);
  assert.deepEqual(await new FileStorage(path).load(), []);
});

test("outbox_in_a_damaged_file_is_not_opened", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "outbox-"));
  context.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "outbox.json");
  await writeFile(path, "[{");
  await assert.rejects(Outbox.open(client, new FileStorage(path)), SyntaxError);
});

test("outbox_delayed_message_holds_back_its_chat_only", async () => {
  const waiting = await Outbox.open(client, new MemoryStorage());
  for (const [chat, text] of [["a", "a1"], ["a", "a2"], ["b", "b1"]]) await waiting.add(chat, text);
  api.refusals = [{ status: 429 }];
  await assert.rejects(waiting.flush(), ApiError);
  assert.deepEqual(texts(api.posted), ["a1", "b1"]);
  assert.deepEqual(texts(waiting.waiting), ["a1", "a2"]);
});

test("outbox_delayed_chats_throw_the_error_with_the_longest_pause", async () => {
  const waiting = await Outbox.open(client, new MemoryStorage());
  await waiting.add("a", "a1");
  await waiting.add("b", "b1");
  api.refusals = [{ status: 503 }, { status: 429, headers: { "retry-after": "30" } }];
  await assert.rejects(waiting.flush(), { status: 429, retryAfterSeconds: 30 });
});

test("outbox_refused_message_is_reported_and_does_not_hold_back_the_next", async () => {
  const refused = [];
  await start({ onRefused: (entry, { status }) => refused.push([entry.text, status]) });
  api.refusals = [{ status: 422 }];
  await outbox.add("a", "too long");
  await outbox.add("a", "fine");
  await settle();
  assert.deepEqual(refused, [["too long", 422]]);
  assert.deepEqual(outbox.waiting, []);
  assert.deepEqual(api.texts, ["fine"]);
});

test("outbox_with_lost_response_sends_the_same_client_id_again", async () => {
  await start();
  api.refusals = [OFFLINE];
  const { clientId } = await outbox.add("a", "one");
  await pass(1_000);
  assert.deepEqual(ids(), [clientId, clientId]);
  assert.deepEqual(outbox.waiting, []);
});

test("outbox_with_two_flushes_at_once_posts_each_message_once", async () => {
  const posted = [];
  const waiting = await Outbox.open(client, new MemoryStorage(), { onPosted: ({ seq }) => posted.push(seq) });
  await waiting.add("a", "one");
  await waiting.add("a", "two");
  await Promise.all([waiting.flush(), waiting.flush()]);
  assert.deepEqual(api.texts, ["one", "two"]);
  assert.deepEqual(posted, [1, 2]);
});

test("outbox_with_too_many_calls_waits_as_the_api_says_also_after_a_new_message", async () => {
  await start();
  api.refusals = [{ status: 429, headers: { "retry-after": "30" } }];
  await outbox.add("a", "one");
  await settle();
  await outbox.add("a", "two");
  outbox.wake();
  await pass(29_000);
  assert.equal(api.posted.length, 1);
  await pass(1_000);
  assert.deepEqual(api.texts, ["one", "two"]);
});

test("outbox_offline_makes_growing_pauses_that_wake_ends", async () => {
  await start();
  api.refusals = [OFFLINE, OFFLINE, OFFLINE];
  await outbox.add("a", "one");
  await pass(1_000);
  assert.equal(api.posted.length, 2);
  await pass(2_000);
  assert.equal(api.posted.length, 3);
  outbox.wake();
  await settle();
  assert.deepEqual(outbox.waiting, []);
});

test("outbox_with_refused_token_waits_for_another_one", async () => {
  const refused = [];
  await start({ onSignIn: ({ status }) => refused.push(status) });
  api.signedIn = false;
  await outbox.add("a", "one");
  await pass(600_000);
  assert.deepEqual(refused, [401]);
  api.signedIn = true;
  outbox.wake();
  await settle();
  assert.deepEqual(api.texts, ["one"]);
});

test("outbox_without_a_token_while_offline_tries_again", async () => {
  let offline = true;
  const token = () => (offline ? Promise.reject(new TypeError("offline")) : Promise.resolve("token"));
  await start({}, new MemoryStorage(), new Client("http://api.test", token));
  await outbox.add("a", "one");
  await settle();
  offline = false;
  await pass(1_000);
  assert.deepEqual(api.texts, ["one"]);
  assert.equal(api.headers.Authorization, "Bearer token");
});

test("outbox_answered_with_a_web_page_keeps_its_messages", async () => {
  await start();
  api.refusals = [{ status: 200, body: "<title>Sign in</title>" }];
  await outbox.add("a", "one");
  await settle();
  assert.deepEqual(texts(outbox.waiting), ["one"]);
  assert.equal(api.redirect, "error");
  await pass(1_000);
  assert.deepEqual(outbox.waiting, []);
});

test("outbox_with_failed_storage_reports_it_and_tries_again", async () => {
  const errors = mock.method(console, "error", () => undefined);
  const storage = new MemoryStorage();
  await start({}, storage);
  let failures = 1;
  const save = storage.save.bind(storage);
  storage.save = (entries) => (entries.length === 0 && failures-- > 0 ? Promise.reject(new Error("full")) : save(entries));
  const { clientId } = await outbox.add("a", "one");
  await pass(1_000);
  assert.equal(errors.mock.callCount(), 1);
  assert.deepEqual(ids(), [clientId, clientId]);
  assert.deepEqual(outbox.waiting, []);
});

test("outbox_that_cannot_save_a_new_message_throws_and_does_not_send_it", async () => {
  await start({}, { load: async () => [], save: () => Promise.reject(new Error("full")) });
  await assert.rejects(outbox.add("a", "one"), { name: "StorageError" });
  await settle();
  assert.deepEqual(api.posted, []);
});

test("outbox_stopped_while_the_api_asks_to_wait_ends_and_keeps_its_messages", async () => {
  const storage = new MemoryStorage();
  outbox = await Outbox.open(client, storage);
  const ended = outbox.run();
  api.refusals = [{ status: 429, headers: { "retry-after": "600" } }];
  await outbox.add("a", "one");
  await settle();
  outbox.stop();
  await ended;
  assert.deepEqual(texts(await storage.load()), ["one"]);
});
