// The words of the widget. An attribute replaces each: `text-send="Enviar"` replaces `send`.
const WORDS = {
  open: "Open chat", close: "Close chat", unread: "{count} unread", menu: "More", loading: "Opening the chat",
  messages: "Messages", write: "Write a message", send: "Send", sending: "Sending", waits: "Waits to be sent",
  refused: "Not sent: {text} ({reason})", team: "Team", sources: "Sources", deleted: "A message was deleted.",
  working: "{name} is working on an answer", writing: "{name} is writing", silent: "No answer came. Please write again.",
  answered: "Answered: {answer}", expired: "This question has expired.", privacy: "Read more", agree: "I agree",
  offline: "You are offline. Your messages are kept here, and sent once you are back.",
  lost: "The connection was lost. It is being restored.", unreachable: "The chat could not be reached.", again: "Try again",
  unknown: "This chat is not available.", foreign: "This chat is not set up for this web site.",
  busy: "There are too many messages right now. Please try again later.", signedOut: "Please sign in again to go on.",
  ended: "This chat has ended. You can start a new one.", start: "Start a new chat", keep: "Keep it",
  end: "End and forget", endAsk: "End this chat, and remove it from this device?",
  forgotten: "This chat was removed from this device.",
  erase: "Delete this chat", eraseAsk: "Delete this chat and all its messages?",
  erasing: "This chat is being deleted. This takes a few minutes.", erased: "This chat was deleted.",
};
export type Word = keyof typeof WORDS;
export type Say = (word: Word, values?: Record<string, string | number>) => string;

/** The attributes with words, for `observedAttributes`. */
export const WORD_ATTRIBUTES = Object.keys(WORDS).map(attributeOf);

/** Return a function that says words as the attributes of an element have them. */
export function sayingOf(element: Element): Say {
  return (word, values = {}) =>
    (element.getAttribute(attributeOf(word)) ?? WORDS[word]).replace(/\{(\w+)\}/g, (whole, name: string) =>
      String(values[name] ?? whole),
    );
}

function attributeOf(word: string): string {
  return `text-${word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
