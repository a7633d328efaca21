// Client of Skein: typed calls, the live channel with streamed answers, and an outbox.
export type { Words } from "./answers.js";
export { ApiError, Client, NoAnswer, Unreachable } from "./client.js";
export type {
  Agent,
  AskOptions,
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
  Problem,
  Ticket,
} from "./client.js";
export { Live } from "./live.js";
export type { LiveEvent, LiveOptions } from "./live.js";
export { MemoryStorage, Outbox, StorageError, WebStorage } from "./outbox.js";
export type { Entry, OutboxOptions, Storage } from "./outbox.js";
export { BadSignature, verifyCall, verifyEvent } from "./signatures.js";
export type { CallContext, SkeinEvent } from "./signatures.js";
export type { components, operations, paths } from "./schema.js";
