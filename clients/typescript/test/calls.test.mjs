import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, Client, NoAnswer } from "../dist/index.js";
import { FakeApi, pass } from "./fake_api.mjs";

const client = new Client("http://api.test", "token");
let api;

beforeEach(() => { api = new FakeApi().install(); });
afterEach(() => api.uninstall());

test("answer_to_a_choice_is_posted_as_a_message", async () => {
  const [question] = await client.choices.list();
  const answer = await client.choices.answer("chat_1", { seq: question.seq, option: "yes" }, "key");
  assert.deepEqual(api.posted, [{ choice: { seq: 1, option: "yes" }, client_id: "key" }]);
  assert.equal(answer.text, "yes");
});

test("answer_to_an_invitation_is_sent_for_its_chat", async () => {
  await client.choices.answerInvitation("chat/1", false);
  assert.deepEqual(api.calls, ["POST /v1/chats/chat%2F1/invitation"]);
  assert.deepEqual(api.posted, [{ accept: false }]);
});

test("named_calls_are_calls_of_the_api", async () => {
  await client.chats.get("chat_1");
  await client.members.add("chat_1", "user", "a/b");
  await client.members.remove("chat_1", "user", "a");
  await client.messages.delete("chat_1", 3);
  await client.lines.get("+1/2");
  await client.agents.restoreVersion("agt_1", 2);
  await client.plans.list("agt_1", { user_id: "usr_1" }).next();
  assert.deepEqual(api.calls, [
    "GET /v1/chats/chat_1",
    "PUT /v1/chats/chat_1/members/user/a%2Fb",
    "DELETE /v1/chats/chat_1/members/user/a",
    "DELETE /v1/chats/chat_1/messages/3",
    "GET /v1/lines/%2B1%2F2",
    "POST /v1/agents/agt_1/versions/2/restore",
    "GET /v1/agents/agt_1/plans",
  ]);
});

test("call_without_a_token_has_no_authorization", async () => {
  await new Client("http://api.test", null).call("GET", "/v1/chats");
  assert.deepEqual(api.headers, {});
});

test("message_gets_an_id_and_is_repeated_with_it", async () => {
  api.refusals = [{ status: 503 }, new Error("offline")];
  const posting = client.messages.post("chat_1", "Hello");
  await pass(2_000);
  await pass(4_000);
  assert.equal((await posting).text, "Hello");
  assert.equal(api.posted.length, 3);
  assert.equal(new Set(api.posted.map((each) => each.client_id)).size, 1);
});

test("post_is_repeated_with_one_key_and_each_call_has_its_own", async () => {
  const keys = [];
  const fetched = globalThis.fetch;
  globalThis.fetch = (url, options) => {
    keys.push(options.headers["Idempotency-Key"]);
    return fetched(url, options);
  };
  api.refusals = [{ status: 503 }, new Error("offline")];
  const creating = client.call("POST", "/v1/agents", { text: "Iris" });
  await pass(2_000);
  await pass(4_000);
  await creating;
  await client.call("POST", "/v1/agents", { text: "Iris" });
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.equal(new Set(keys).size, 2);
});

test("call_with_a_second_effect_and_a_refused_call_are_not_repeated", async () => {
  for (const [status, call] of [
    [503, () => client.ticket()],
    [409, () => client.messages.post("chat_1", "Hello")],
  ]) {
    api.refusals = [{ status }];
    const before = api.calls.length;
    await assert.rejects(call(), ApiError);
    assert.equal(api.calls.length, before + 1);
  }
});

test("question_waits_for_the_first_answer_that_no_person_wrote", async () => {
  const asking = client.chats.ask("chat_1", "Does it hurt?", { clientId: "mine" });
  await pass(600);
  api.sender = { kind: "agent", id: "agt_1", name: "Coach" };
  api.texts.push("Yes");
  await pass(1_000);
  assert.equal((await asking).text, "Yes");
  assert.equal(api.posted[0].client_id, "mine");
});

test("question_without_an_answer_in_time_is_told_apart", async () => {
  const asking = assert.rejects(client.chats.ask("chat_1", "Hello?", { seconds: 1 }), NoAnswer);
  await pass(600);
  await pass(600);
  await asking;
});

test("file_is_uploaded_to_its_url_and_named_by_its_id", async () => {
  const original = globalThis.fetch;
  const uploads = [];
  globalThis.fetch = async (url, options) => {
    if (String(url) === "http://files.test/1") return uploads.push(options) && new Response("");
    const headers = { "x-checksum": JSON.parse(options.body).sha256 };
    return Response.json({ id: "med_1", url: "http://files.test/1", method: "PUT", headers });
  };
  try {
    const file = new Blob(["%PDF"], { type: "application/pdf" });
    assert.equal(await client.media.upload("chat_1", file), "med_1");
  } finally {
    globalThis.fetch = original;
  }
  assert.equal(uploads[0].headers.authorization, undefined);
  assert.match(uploads[0].headers["x-checksum"], /^[0-9a-f]{64}$/);
});

test("client_without_arguments_reads_the_environment", async () => {
  assert.throws(() => new Client("http://api.test"), /SKEIN_TOKEN/);
  process.env.SKEIN_TOKEN = "of the environment";
  process.env.SKEIN_URL = "http://env.test/";
  try {
    await new Client().chats.get("chat_1");
    assert.equal(api.headers.Authorization, "Bearer of the environment");
    assert.equal(api.host, "env.test");
  } finally {
    delete process.env.SKEIN_TOKEN;
    delete process.env.SKEIN_URL;
  }
});

test("error_has_the_fields_of_its_problem_and_the_id_of_its_request", async () => {
  const problem = { type: "about:blank", title: "Unprocessable Content", code: "unprocessable" };
  const details = { reasons: ["name: too long"] };
  const body = JSON.stringify({ ...problem, detail: "no", details, request_id: "req_1" });
  const headers = { "apigw-requestid": "req_2" };
  api.refusals = [{ status: 422, body }, { status: 404, body: '{"message": "Not Found"}', headers }];
  await assert.rejects(client.chats.get("chat_1"), (error) => {
    assert.deepEqual({ ...error, name: undefined }, {
      ...{ ...problem, name: undefined, status: 422, detail: "no", details },
      ...{ requestId: "req_1", retryAfterSeconds: undefined },
    });
    return error.message === "422 unprocessable: no (request req_1)";
  });
  await assert.rejects(client.chats.get("chat_1"), { code: "not_found", requestId: "req_2", details: {} });
});
