/** Return a count, as a number or as shown, with its noun: "1 chat", "2,000 chats". */
export const plural = (count, one, many = `${one}s`) => `${count} ${String(count) === "1" ? one : many}`;
