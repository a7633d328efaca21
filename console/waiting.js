// What waits for the team: chats on the desk, and calls to approve.
export const NOTHING_WAITS = { chats: [], approvals: [] };

/** Read the chats that nobody holds yet, and the calls that wait for a decision. */
export async function waitingWork(api) {
  const [desk, approvals] = await Promise.all([api.get("/v1/desk"), api.get("/v1/approvals")]);
  return { chats: desk.items.filter((each) => each.state === "waiting"), approvals: approvals.items };
}
