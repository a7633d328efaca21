// Chat in a terminal, also offline: TOKEN=... node example.mjs URL CHAT_ID [OUTBOX_FILE]
import { readFile, rename, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Client, Live, Outbox } from "skein-client";

const [url, chatId, file = "outbox.json"] = process.argv.slice(2);
const storage = {
  load: async () => JSON.parse(await readFile(file, "utf8").catch(() => "[]")),
  save: async (entries) => {
    await writeFile(`${file}.new`, JSON.stringify(entries));
    await rename(`${file}.new`, file);
  },
};
const client = new Client(url, process.env.TOKEN);
const outbox = await Outbox.open(client, storage);
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
