import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, Client, Live } from "../dist/index.js";
import { AGENT, FakeApi, pass, settle } from "./fake_api.mjs";

const FIRST_PAUSE_MS = 1_000;
const PING_MS = 10_000;
let api, live, events, failure;

beforeEach(() => {
  api = new FakeApi().install();
  [live, events, failure] = [null, [], null];
});
afterEach(async () => {
  live?.stop();
  await settle();
  api.uninstall();
});

/** Collect the events of a live channel until its end. */
async function listen(options = {}) {
  live = new Live(new Client("http://api.test", "token"), options);
  const collect = async () => {
    for await (const event of live.events()) events.push(event);
  };
  await collect().catch((error) => (failure = error));
}
const texts = () => events.filter(({ type }) => type === "message").map(({ message }) => message.text);
const words = () => events.filter(({ type }) => type === "draft").map(({ text }) => text);
const types = () => events.map(({ type }) => type);

test("live_after_dropped_connection_reports_missed_messages_once", async () => {
  api.texts = ["old"];
  void listen();
  await settle();
  api.socket.drop();
  api.texts.push("2", "3", "4");
  await pass(FIRST_PAUSE_MS);
  assert.deepEqual(types(), ["connected", "lost", "message", "message", "message", "connected"]);
  assert.deepEqual(texts(), ["2", "3", "4"]);
});

test("live_with_lost_late_and_repeated_frames_reports_each_message_once", async () => {
  void listen();
  await settle();
  api.texts = ["1", "2", "3"];
  for (const seq of [1, 1, 3, 2, 3]) api.push(seq);
  await settle();
  api.texts.push("4");
  api.socket.push({ type: "resync", chat_id: "chat_1" });
  await settle();
  assert.deepEqual(texts(), ["1", "2", "3", "4"]);
  assert.equal(api.sockets.length, 1);
});

test("live_with_seen_messages_begins_after_them", async () => {
  api.texts = ["1", "2", "3"];
  void listen({ seen: { chat_1: 1 } });
  await settle();
  assert.deepEqual(texts(), ["2", "3"]);
  assert.deepEqual(live.seen, { chat_1: 3 });
});

test("live_of_one_chat_reads_no_other", async () => {
  api.texts = ["1", "2", "3"];
  void listen({ chatId: "chat_1", seen: { chat_1: 1 } });
  await settle();
  assert.deepEqual(texts(), ["2", "3"]);
  assert.ok(!api.calls.includes("GET /v1/chats"));
});

test("live_after_reconnect_reads_no_chat_without_new_messages", async () => {
  api.texts = ["1"];
  void listen();
  await settle();
  api.socket.drop();
  await pass(FIRST_PAUSE_MS);
  assert.equal(api.sockets.length, 2);
  assert.ok(!api.calls.some((call) => call.endsWith("/messages")));
});

test("live_with_resync_of_a_chat_that_the_person_left_keeps_the_connection", async () => {
  void listen();
  await settle();
  api.refusals = [{ status: 404 }];
  api.socket.push({ type: "resync", chat_id: "chat_2" });
  await settle();
  api.texts = ["1"];
  api.push(1);
  await settle();
  assert.deepEqual(types(), ["connected", "message"]);
});

test("live_with_answered_pings_keeps_the_connection", async () => {
  void listen({ pingMs: PING_MS });
  for (let n = 0; n < 5; n += 1) await pass(PING_MS);
  assert.equal(api.sockets.length, 1);
  assert.ok(api.socket.sent.every(({ type }) => type === "ping"));
  assert.equal(api.socket.sent.length, 5);
});

test("live_without_answer_to_a_ping_connects_again", async () => {
  api.answersPings = false;
  void listen({ pingMs: PING_MS });
  await pass(PING_MS);
  assert.deepEqual(types(), ["connected"]);
  await pass(PING_MS);
  assert.deepEqual(types(), ["connected", "lost"]);
  assert.match(events[1].error.message, /no answer to a ping/);
  await pass(FIRST_PAUSE_MS);
  assert.deepEqual(types(), ["connected", "lost", "connected"]);
});

test("live_with_a_handshake_that_never_ends_connects_again", async () => {
  api.opens = false;
  void listen({ pingMs: PING_MS });
  await pass(2 * PING_MS);
  assert.deepEqual(types(), ["lost"]);
  api.opens = true;
  await pass(FIRST_PAUSE_MS);
  assert.deepEqual(types(), ["lost", "connected"]);
});

test("live_with_expired_ticket_gets_another_one", async () => {
  api.opens = false;
  void listen();
  await settle();
  api.socket.drop(); // what a browser tells of a refused handshake
  api.opens = true;
  await pass(FIRST_PAUSE_MS);
  assert.deepEqual(types(), ["lost", "connected"]);
  assert.equal(api.calls.filter((call) => call === "POST /v1/live").length, 2);
});

test("live_with_too_many_calls_waits_as_the_api_says", async () => {
  api.refusals = [{ status: 429, headers: { "retry-after": "30" } }];
  void listen();
  await pass(29_000);
  assert.deepEqual(types(), ["lost"]);
  await pass(1_000);
  assert.deepEqual(types(), ["lost", "connected"]);
});

test("live_offline_makes_growing_pauses", async () => {
  api.refusals = Array.from({ length: 4 }, () => new TypeError("fetch failed"));
  void listen();
  for (const [seconds, losses] of [[1, 2], [2, 3], [4, 4]]) {
    await pass(1000 * seconds);
    assert.equal(events.length, losses);
  }
  await pass(8_000);
  assert.equal(types().at(-1), "connected");
});

test("live_with_connection_lost_in_a_streamed_answer_voids_the_draft", async () => {
  void listen();
  await settle();
  api.pushWords(1, "Rest");
  api.pushWords(2, " on");
  await settle();
  api.socket.drop();
  await pass(FIRST_PAUSE_MS);
  assert.deepEqual(words(), ["Rest", "Rest on", ""]);
  api.pushWords(3, " Monday");
  api.pushWords(1, "Run");
  await settle();
  assert.deepEqual(words(), ["Rest", "Rest on", "", "Run"]);
});

test("drafts_with_repeated_late_and_missing_frames_grow_without_gaps", async () => {
  void listen();
  await settle();
  const frames = [[1, "Rest"], [1, "Rest"], [2, " on"], [2, " on"], [4, " lost"], [3, " Monday"]];
  for (const [n, text] of frames) api.pushWords(n, text);
  await settle();
  assert.deepEqual(words(), ["Rest", "Rest on", "Rest on Monday"]);
});

test("drafts_of_two_agents_grow_apart", async () => {
  void listen();
  await settle();
  const other = { id: "agt_2", name: "Doctor" };
  api.pushWords(1, "Rest");
  api.socket.push({ type: "delta", chat_id: "chat_1", agent: other, n: 1, text: "Eat" });
  api.pushWords(2, " on");
  api.socket.push({ type: "retract", chat_id: "chat_1", agent: AGENT });
  api.socket.push({ type: "delta", chat_id: "chat_1", agent: other, n: 2, text: " well" });
  await settle();
  assert.deepEqual(words(), ["Rest", "Eat", "Rest on", "", "Eat well"]);
});

for (const status of ["done", "failed"]) {
  test(`draft_of_a_run_that_is_${status}_is_void`, async () => {
    void listen();
    await settle();
    api.pushWords(1, "Rest");
    for (const each of ["working", status]) {
      api.socket.push({ type: "run", chat_id: "chat_1", agent: AGENT, status: each });
    }
    await settle();
    assert.deepEqual(types(), ["connected", "draft", "frame", "draft", "frame"]);
    assert.deepEqual(words(), ["Rest", ""]);
  });
}

test("draft_is_void_before_the_message_of_its_agent", async () => {
  void listen();
  await settle();
  api.pushWords(1, "Rest");
  api.texts = ["Rest on Monday."];
  api.sender = { kind: "agent", ...AGENT };
  api.push(1);
  await settle();
  assert.deepEqual(types(), ["connected", "draft", "draft", "message"]);
  assert.deepEqual(words(), ["Rest", ""]);
});

test("live_with_refused_token_ends_with_the_error", async () => {
  const ended = listen();
  await settle();
  api.signedIn = false;
  api.socket.drop();
  await pass(FIRST_PAUSE_MS);
  await ended;
  assert.ok(failure instanceof ApiError);
  assert.ok(failure.needsSignIn);
});

test("live_stopped_while_the_server_is_gone_ends_at_once", async () => {
  const ended = listen();
  await settle();
  live.stop(); // no close event follows
  await ended;
  assert.deepEqual(types(), ["connected"]);
});

test("live_stopped_while_it_gets_a_ticket_opens_no_connection", async () => {
  const answer = globalThis.fetch;
  globalThis.fetch = (url, options) => {
    if (url.endsWith("/v1/live")) live.stop();
    return answer(url, options);
  };
  await listen();
  assert.equal(api.sockets.length, 0);
});

test("live_stopped_while_the_api_asks_to_wait_ends_at_once", async () => {
  api.refusals = [{ status: 503, headers: { "retry-after": "600" } }];
  const ended = listen();
  await settle();
  live.stop();
  await ended;
  assert.deepEqual(types(), ["lost"]);
});

test("typing_is_sent_over_an_open_connection_only", async () => {
  void listen();
  await settle();
  live.typing("chat_1");
  assert.deepEqual(api.socket.sent, [{ type: "typing", chat_id: "chat_1" }]);
  api.socket.drop();
  await settle();
  live.typing("chat_1");
  assert.equal(api.socket.sent.length, 1);
});

test("shown_chat_is_sent_again_over_each_new_connection", async () => {
  void listen();
  live.showing("chat_1");
  await settle();
  const frame = { type: "showing", chat_id: "chat_1" };
  assert.deepEqual(api.socket.sent, [frame]);
  live.showing(null);
  assert.deepEqual(api.socket.sent, [frame, { type: "showing", chat_id: null }]);
});
