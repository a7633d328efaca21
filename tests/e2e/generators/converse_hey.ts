// Conversation with an agent through the client of @hey-api/openapi-ts (`hey`).
import { createAgent, createChat, listMessages, postMessage } from "./hey";
import { createClient } from "./hey/client";

async function main(): Promise<void> {
  const baseUrl = process.env.URL as string;
  const client = createClient({ baseUrl, auth: process.env.TOKEN, throwOnError: true });
  const options = { client, throwOnError: true } as const;
  const { data: agent } = await createAgent({ ...options, body: { name: "Coach" } });
  const members = [{ kind: "agent" as const, id: agent.id }];
  const { data: chat } = await createChat({ ...options, body: { kind: "direct", members } });
  const path = { chat_id: chat.id };
  await postMessage({ ...options, path, body: { text: "Should I stretch?", client_id: "1" } });
  await fetch(`${baseUrl}/local/drain`, { method: "POST" });
  const { data: page } = await listMessages({ ...options, path });
  for (const { seq, sender, text } of page.items) console.log(`${seq} ${sender.kind}: ${text}`);
}

void main();
