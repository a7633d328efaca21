"""A family and one agent: a secret of a private chat is in no prompt of the group."""

from stack import URL, local, sign_in

TENANT = "example-family"
REASON = {"reason": "Showing an example"}


def main(url: str = URL) -> dict[str, list[str]]:
    """Let Ann tell a secret, open a group, and return the sections that mention the secret."""
    operator = sign_in(TENANT, "operator", "Operator", "chat admin", url)
    ids = {
        name: operator.call("POST", "/v1/users", {"name": name})["id"] for name in ("Ann", "Ben")
    }
    ann, ben = (sign_in(TENANT, person, name, url=url) for name, person in ids.items())
    agent = operator.call(
        "POST",
        "/v1/agents",
        {"name": "Hearth", "system_prompt": "You help a family.", "listed": True},
    )
    helper = {"kind": "agent", "id": agent["id"]}

    direct = ann.call(
        "POST", "/v1/chats", {"kind": "direct", "visibility": "private", "members": [helper]}
    )
    secret = {"text": "Ben gets a telescope for his birthday. Tell nobody!", "client_id": "1"}
    ann.call("POST", f"/v1/chats/{direct['id']}/messages", secret)
    local("drain", {}, url)

    group = ann.call(
        "POST",
        "/v1/chats",
        {
            "kind": "group",
            "visibility": "private",
            "title": "Family",
            "members": [helper, {"kind": "user", "id": ids["Ben"]}],
        },
    )
    ben.call("POST", f"/v1/chats/{group['id']}/invitation", {"accept": True})
    asked = {"text": "Hearth, what do I get for my birthday?", "client_id": "1"}
    ben.call("POST", f"/v1/chats/{group['id']}/messages", asked)
    local("drain", {}, url)

    def mentions(chat: str) -> list[str]:
        """Return the sections of the agent's prompt in a chat that mention the telescope."""
        path = f"/v1/agents/{agent['id']}/context"
        preview = operator.call("GET", path, query={"chat_id": chat} | REASON)
        return [part["name"] for part in preview["sections"] if "telescope" in part["text"]]

    return {"Ann's chat": mentions(direct["id"]), "the group": mentions(group["id"])}


if __name__ == "__main__":
    for chat, sections in main().items():
        print(f"In {chat}, the telescope is in {sections or 'no section'}.")
