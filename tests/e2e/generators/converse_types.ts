// Conversation with an agent through the types of openapi-typescript (`schema`).
import type { operations } from "./schema";

type Body<Id extends keyof operations> = operations[Id] extends {
  requestBody: { content: { "application/json": infer T } };
}
  ? T
  : never;
type Answer<Id extends keyof operations, Status> = operations[Id] extends {
  responses: infer R;
}
  ? Status extends keyof R
    ? R[Status] extends { content: { "application/json": infer T } }
      ? T
      : never
    : never
  : never;

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { Authorization: `Bearer ${process.env.TOKEN}`, "Content-Type": "application/json" };
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(`${process.env.URL}${path}`, { method, headers, body: sent });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  return (await response.json()) as T;
}

async function main(): Promise<void> {
  const newAgent: Body<"create_agent"> = { name: "Coach", listed: true };
  const agent = await call<Answer<"create_agent", 201>>("POST", "/v1/agents", newAgent);
  const newChat: Body<"create_chat"> = { kind: "direct", members: [{ kind: "agent", id: agent.id }] };
  const chat = await call<Answer<"create_chat", 201>>("POST", "/v1/chats", newChat);
  const message: Body<"post_message"> = { text: "Should I stretch?", client_id: "1" };
  const messages = `/v1/chats/${chat.id}/messages`;
  await call<Answer<"post_message", 201>>("POST", messages, message);
  await call("POST", "/local/drain");
  const page = await call<Answer<"list_messages", 200>>("GET", messages);
  for (const { seq, sender, text } of page.items) console.log(`${seq} ${sender.kind}: ${text}`);
}

void main();
