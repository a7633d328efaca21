import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Client } from "../dist/index.js";
import { FakeApi } from "./fake_api.mjs";

const client = new Client("http://api.test", "token");
let api;

beforeEach(() => { api = new FakeApi().install(); });
afterEach(() => api.uninstall());

test("answer_to_a_choice_is_posted_as_a_message", async () => {
  const [question] = await client.choices();
  const answer = await client.answerChoice("chat_1", { seq: question.seq, option: "yes" }, "key");
  assert.deepEqual(api.posted, [{ choice: { seq: 1, option: "yes" }, client_id: "key" }]);
  assert.equal(answer.text, "yes");
});

test("answer_to_an_invitation_is_sent_for_its_chat", async () => {
  await client.answerInvitation("chat/1", false);
  assert.deepEqual(api.calls, ["POST /v1/chats/chat%2F1/invitation"]);
  assert.deepEqual(api.posted, [{ accept: false }]);
});
