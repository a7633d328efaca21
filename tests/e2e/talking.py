"""A group of two people and an agent, by the API of the local stack."""

from tests.e2e.client import Client


def group(client: Client) -> tuple[str, str]:
    """A group with an agent that listens; returns the ids of both."""
    admin, husam = client.token("ops", "admin"), client.token("usr_husam")
    agent = client.ok("POST", "/v1/agents", {"name": "Keeper", "listed": True}, token=admin)["id"]
    members = [{"kind": "agent", "id": agent}]
    new = {"title": "Q4", "kind": "group", "respond": "manual", "members": members}
    return client.ok("POST", "/v1/chats", new, token=husam)["id"], agent


def say(client: Client, chat: str, text: str) -> None:
    message = {"text": text, "client_id": text}
    client.ok("POST", f"/v1/chats/{chat}/messages", message, token=client.token("usr_husam"))
