import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Client, NoAnswer } from "../dist/index.js";
import { AGENT, FakeApi, pass, settle } from "./fake_api.mjs";

const FIRST_PAUSE_MS = 1_000;
let api, words, ended;

beforeEach(async () => {
  api = new FakeApi().install();
  words = [];
});
afterEach(() => api.uninstall());

/** Ask a question, and collect the words of its answer. */
async function ask(seconds = 60) {
  const collect = async () => {
    const asked = new Client("http://api.test", "token").chats.ask("chat_1", "Run?", { stream: true, seconds });
    for await (const each of asked) words.push(each);
  };
  ended = collect();
  ended.catch(() => undefined);
  await settle();
  api.sender = { kind: "agent", ...AGENT };
}
const shown = () => words.map((each) => [each.text, each.new, each.restarts]);

test("words_arrive_while_the_agent_writes_and_end_with_the_message", async () => {
  await ask();
  api.pushWords(1, "Rest");
  api.pushWords(2, " on");
  await settle();
  assert.equal(words.length, 2);
  api.socket.push({ type: "run", chat_id: "chat_1", agent: AGENT, status: "done" });
  api.texts.push("Rest on Monday.");
  api.push(2);
  await ended;
  assert.deepEqual(shown(), [
    ["Rest", "Rest", false],
    ["Rest on", " on", false],
    ["Rest on Monday.", " Monday.", false],
  ]);
  assert.deepEqual(words.map(({ message }) => message?.seq), [undefined, undefined, 2]);
  assert.equal(api.posted.length, 1);
});

test("retracted_words_are_void_at_once_and_the_answer_starts_again", async () => {
  await ask();
  api.pushWords(1, "Rest");
  api.socket.push({ type: "retract", chat_id: "chat_1", agent: AGENT });
  await settle();
  assert.deepEqual(shown().at(-1), ["", "", true]);
  api.pushWords(1, "Run");
  api.texts.push("Walk.");
  api.push(2);
  await ended;
  assert.deepEqual(shown().slice(2), [["Run", "Run", false], ["Walk.", "Walk.", true]]);
});

test("answer_during_a_lost_connection_is_read_after_it", async () => {
  await ask();
  api.pushWords(1, "Rest");
  await settle();
  api.texts.push("Rest on Monday.");
  api.socket.drop();
  await ended;
  assert.deepEqual(shown().slice(1), [["", "", true], ["Rest on Monday.", "Rest on Monday.", false]]);
});

test("answer_without_a_live_channel_comes_whole", async () => {
  api.opens = false;
  await ask();
  api.socket.drop();
  await settle();
  api.texts.push("Rest.");
  await pass(FIRST_PAUSE_MS);
  api.socket.drop();
  await ended;
  assert.deepEqual(shown(), [["Rest.", "Rest.", false]]);
});

test("streamed_question_without_an_answer_in_time_names_its_message", async () => {
  await ask(1);
  await pass(1_000);
  await assert.rejects(ended, (error) => error instanceof NoAnswer && error.posted.seq === 1);
});
