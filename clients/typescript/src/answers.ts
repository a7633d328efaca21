// Answers whose words arrive while an agent writes them.
import { NoAnswer, Unreachable, type Client, type Message, type NewMessage } from "./client.js";
import { Live, type LiveEvent } from "./live.js";

/** Words of an answer that is being written. */
export interface Words {
  /** The answer so far; "" if its words were retracted. */
  text: string;
  /** The words to add to those before; all of `text` if it starts again. */
  new: string;
  /** Whether the words before are void, so that `text` replaces them. */
  restarts: boolean;
  /** The answer as it is stored, with the last words. */
  message?: Message;
}

/** Puts the first answer in a chat together from the events of the live channel. */
class Answer {
  #agent: string | null = null;
  #shown = "";

  constructor(private readonly chatId: string) {}

  *add(event: LiveEvent): Generator<Words> {
    // The message follows when an agent has ended its answer, so its words stay.
    if (event.type !== "draft" || event.ended || event.chatId !== this.chatId) return;
    if (this.#agent !== null && this.#agent !== event.agent.id) return; // one agent at a time
    this.#agent = event.text === "" ? null : event.agent.id;
    yield this.#grown(event.text);
  }

  end(message: Message): Words {
    return { ...this.#grown(message.text ?? ""), message };
  }

  #grown(text: string): Words {
    const restarts = !text.startsWith(this.#shown);
    const added = restarts ? text : text.slice(this.#shown.length);
    this.#shown = text;
    return { text, new: added, restarts };
  }
}

/**
 * Post a message once the live channel is open, and yield the words of the first answer. Without a
 * live channel, the answer is read between the attempts to connect, and comes whole.
 */
export async function* streamAnswer(
  client: Client,
  chatId: string,
  message: NewMessage,
  seconds: number,
): AsyncGenerator<Words> {
  const live = new Live(client);
  const answer = new Answer(chatId);
  let posted: Message | undefined;
  const timer = setTimeout(() => live.stop(), 1000 * seconds);
  try {
    for await (const event of live.events()) {
      posted ??= await client.messages.send(chatId, message);
      yield* answer.add(event);
      let found: Message | undefined;
      if (event.type === "message" && answers(event.message, posted)) found = event.message;
      else if (event.type === "connected" || event.type === "lost") found = await answerTo(client, posted);
      if (found === undefined) continue;
      yield answer.end(found);
      return;
    }
  } finally {
    clearTimeout(timer);
    live.stop();
  }
  if (posted === undefined) throw new Unreachable("the live channel did not open in time");
  throw new NoAnswer(posted);
}

async function answerTo(client: Client, posted: Message): Promise<Message | undefined> {
  for await (const message of client.messages.list(posted.chat_id, posted.seq)) {
    if (answers(message, posted)) return message;
  }
  return undefined;
}

function answers(message: Message, posted: Message): boolean {
  return message.chat_id === posted.chat_id && message.seq > posted.seq && message.sender.kind !== "user";
}
