// Signatures as middleware of Express, or of any other framework on Node's `http`.
import type { IncomingMessage, ServerResponse } from "node:http";
import { BadSignature, verifyCall, verifyEvent, type CallContext, type SkeinEvent } from "./signatures.js";

/** A request of Express, with what its signature proves. */
export interface SignedRequest extends IncomingMessage {
  body?: unknown;
  originalUrl?: string;
  protocol?: string;
  skein?: CallContext | SkeinEvent;
}
type Next = (error?: unknown) => void;
export type Middleware = (request: SignedRequest, response: ServerResponse, next: Next) => Promise<void>;

/**
 * Check the call of a tool: `request.skein` is its context, and `request.body` its JSON. A call with
 * a wrong signature is answered with 401. Put it before `express.json()`, which keeps no bytes.
 *
 * @param secret The secret of the tool.
 * @param baseUrl The address before the path, as the tool has it; by default that of the request.
 *   Behind a proxy that changes the host, the scheme or the path, it is needed.
 */
export function signedCall(secret: string, baseUrl?: string): Middleware {
  return signed((request, body) => {
    const host = `${request.protocol ?? "http"}://${request.headers.host ?? ""}`;
    const url = `${(baseUrl ?? host).replace(/\/+$/, "")}${request.originalUrl ?? request.url ?? ""}`;
    return verifyCall(secret, headersOf(request), { method: request.method ?? "GET", url, body });
  });
}

/**
 * Check an event: `request.skein` is the event. An event with a wrong signature is answered with 401.
 * Put it before `express.json()`, which keeps no bytes.
 *
 * @param secret The secret of the event endpoint.
 */
export function signedEvent(secret: string): Middleware {
  return signed((request, body) => verifyEvent(secret, headersOf(request), body));
}

function signed(
  verify: (request: SignedRequest, body: string) => Promise<CallContext | SkeinEvent>,
): Middleware {
  return async (request, response, next) => {
    try {
      const body = await bytesOf(request);
      request.skein = await verify(request, body);
      // With `_body`, the parsers of Express 4 know that the body was read.
      if (body !== "") Object.assign(request, { body: JSON.parse(body) as unknown, _body: true });
    } catch (error) {
      if (!(error instanceof BadSignature)) return next(error);
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: error.message }));
      return;
    }
    next();
  };
}

function headersOf(request: IncomingMessage): Record<string, string | undefined> {
  return request.headers as Record<string, string | undefined>;
}

/** Return the body as it was sent, also after `express.raw()`. */
async function bytesOf(request: SignedRequest): Promise<string> {
  if (Buffer.isBuffer(request.body)) return request.body.toString();
  if (request.readableEnded && request.body !== undefined) {
    throw new Error("the body was parsed before its signature was checked: put this before express.json()");
  }
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
