// Chat in a terminal, also offline: TOKEN=... node example.mjs URL CHAT_ID [OUTBOX_FILE]
import { createInterface } from "node:readline";
import { Client, Live, Outbox } from "skein-client";
import { FileStorage } from "skein-client/node";

const [url, chatId, file = "outbox.json"] = process.argv.slice(2);
const client = new Client(url, process.env.TOKEN);
const outbox = await Outbox.open(client, new FileStorage(file));
void outbox.run();
createInterface({ input: process.stdin }).on("line", (line) => void outbox.add(chatId, line.trim()));
for await (const event of new Live(client).events()) {
  if (event.type === "message") console.log(`${event.message.sender.name}: ${event.message.text}`);
  if (event.type === "draft") console.error(`${event.agent.name} writes: ${event.text}`);
  if (event.type === "lost") console.error("lost:", event.error);
  if (event.type === "connected") {
    outbox.wake();
    console.error("connected");
  }
}
