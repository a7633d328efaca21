import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mock, test } from "node:test";
import { signedCall, signedEvent } from "../dist/express.js";
import { BadSignature, verifyCall, verifyEvent } from "../dist/index.js";

// As Skein signs them: tests/clients/test_signatures.py has the same call and the same event.
const SECRET = "whsec_cLZ5eStcYaoo7Z2yfV2bnUPDr94IBM4VJII/E+KUXs4=";
const CONTEXT =
  "eyJ0ZW5hbnQiOiJhY21lIiwiYWdlbnRfaWQiOiJhZ3RfYSIsImNoYXRfaWQiOiJjaGF0XzEiLCJydW5faWQiOiJydW5fMV9jaGF0XzEi" +
  "LCJwZXJzb24iOiJKXHUwMGY2cmciLCJyZWFkZXJzIjpbIkpcdTAwZjZyZyJdLCJyZXF1ZXN0X3NoYTI1NiI6IjQ4ZWU2NjI0ZDE5OWM2" +
  "YmFjNWRlNmNjYjg1M2M1OTdjMTI2M2Q2YzA5OGU5YTEzMTU2MWVkYjE2NjZjYjY0MzUifQ";
const HEADERS = {
  "skein-context": CONTEXT,
  "webhook-id": "run_1_chat_1:1:0",
  "webhook-timestamp": "1771416000",
  "webhook-signature": "v1,jy97QTa+BJnL67vN9QI+t4x4hqlL4AXmRRa9OVIVB8Q=",
};
const REQUEST = { method: "POST", url: "https://shop.example/orders", body: '{"a": 1}' };
const NOW = 1_771_416_000;

test("call_of_skein_has_its_context", async () => {
  const context = await verifyCall(SECRET, HEADERS, REQUEST, NOW + 299);
  assert.equal(context.person, "Jörg");
  assert.deepEqual(context.readers, ["Jörg"]);
});

for (const [why, headers, request, now] of [
  ["body", {}, { body: '{"a": 2}' }, NOW],
  ["age", {}, {}, NOW + 301],
  ["signature", { "webhook-signature": "v1,AAAA" }, {}, NOW],
  ["id", { "webhook-id": "other" }, {}, NOW],
  ["context", { "skein-context": "e30" }, {}, NOW],
  ["nothing", { "webhook-signature": undefined }, {}, NOW],
]) {
  test(`call_with_another_${why}_is_refused`, async () => {
    await assert.rejects(
      verifyCall(SECRET, { ...HEADERS, ...headers }, { ...REQUEST, ...request }, now),
      BadSignature,
    );
  });
}

const EVENT = '{"specversion":"1.0","id":"evt_1","type":"run.ended","data":{"run_id":"run_1_chat_1"}}';
const EVENT_HEADERS = {
  "webhook-id": "evt_1",
  "webhook-timestamp": "1771416000",
  "webhook-signature": "v1,+2sYYPnWHzmuH+sMR8foZpk+COWQ4EM67ce4HYlaRb8=",
};

test("event_of_skein_is_read", async () => {
  const event = await verifyEvent(SECRET, EVENT_HEADERS, EVENT, NOW + 299);
  assert.equal(event.type, "run.ended");
  assert.deepEqual(event.data, { run_id: "run_1_chat_1" });
});

for (const [why, headers, body, now] of [
  ["body", {}, `${EVENT} `, NOW],
  ["age", {}, EVENT, NOW + 301],
  ["signature", { "webhook-signature": "v1,AAAA" }, EVENT, NOW],
  ["id", { "webhook-id": "evt_2" }, EVENT, NOW],
  ["nothing", { "webhook-id": undefined }, EVENT, NOW],
]) {
  test(`event_with_another_${why}_is_refused`, async () => {
    await assert.rejects(verifyEvent(SECRET, { ...EVENT_HEADERS, ...headers }, body, now), BadSignature);
  });
}

/** Send a request to a server behind a middleware, at the time of the signatures. */
async function sent(middleware, path, headers, body, before = () => undefined) {
  const server = createServer(async (request, response) => {
    await before(request);
    void middleware(request, response, (error) => {
      response.statusCode = error ? 500 : 200;
      response.end(error ? error.message : JSON.stringify([request.skein, request.body]));
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  mock.timers.enable({ apis: ["Date"], now: 1000 * NOW });
  try {
    const url = `http://127.0.0.1:${server.address().port}${path}`;
    const response = await fetch(url, { method: "POST", headers, body });
    return [response.status, await response.text()];
  } finally {
    mock.timers.reset();
    server.close();
    server.closeAllConnections();
  }
}
const call = signedCall(SECRET, "https://shop.example/");

test("middleware_gives_the_context_and_the_body_of_a_call", async () => {
  const [status, text] = await sent(call, "/orders", HEADERS, REQUEST.body);
  assert.equal(status, 200);
  const [context, body] = JSON.parse(text);
  assert.deepEqual([context.person, body], ["Jörg", { a: 1 }]);
});

test("middleware_answers_another_request_with_401", async () => {
  assert.equal((await sent(call, "/orders", HEADERS, '{"a": 2}'))[0], 401);
  assert.equal((await sent(call, "/orders?a=1", HEADERS, REQUEST.body))[0], 401);
  assert.equal((await sent(signedCall(SECRET), "/orders", HEADERS, REQUEST.body))[0], 401);
  assert.equal((await sent(signedEvent(SECRET), "/", EVENT_HEADERS, `${EVENT} `))[0], 401);
});

test("middleware_gives_an_event_also_after_a_parser_of_raw_bodies", async () => {
  const raw = (request) => (request.body = Buffer.from(EVENT));
  for (const before of [undefined, raw]) {
    const [status, text] = await sent(signedEvent(SECRET), "/", EVENT_HEADERS, EVENT, before);
    assert.deepEqual([status, JSON.parse(text)[0].id], [200, "evt_1"]);
  }
});

test("middleware_after_a_parser_of_json_says_that_it_comes_too_late", async () => {
  const parsed = async (request) => {
    for await (const part of request) request.body = JSON.parse(part);
  };
  const [status, text] = await sent(signedEvent(SECRET), "/", EVENT_HEADERS, EVENT, parsed);
  assert.equal(status, 500);
  assert.match(text, /before express.json/);
});
