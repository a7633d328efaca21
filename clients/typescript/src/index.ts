// Client of Skein: typed calls, the live channel with streamed answers, and an outbox.
export { ApiError, Client, NoAnswer, Unreachable } from "./client.js";
export type {
  Agent,
  Chat,
  ChatChange,
  ChatMember,
  FoundMessage,
  ListedAgent,
  MediaLink,
  Message,
  NewAnswer,
  NewChat,
  NewMessage,
  OpenChoice,
  Ticket,
} from "./client.js";
export { Live } from "./live.js";
export type { LiveEvent, LiveOptions } from "./live.js";
export { MemoryStorage, Outbox, StorageError, WebStorage } from "./outbox.js";
export type { Entry, OutboxOptions, Storage } from "./outbox.js";
export { BadSignature, verifyCall, verifyEvent } from "./signatures.js";
export type { CallContext } from "./signatures.js";
export type { components, operations, paths } from "./schema.js";
