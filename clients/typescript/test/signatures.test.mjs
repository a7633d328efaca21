import assert from "node:assert/strict";
import { test } from "node:test";
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
