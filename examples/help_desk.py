"""A help desk: the agent looks up orders with a tool, and a person takes over and hands back."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from skein_client import BadSignature, verify_call
from stack import URL, local, sign_in

TENANT = "example-help"
REASON = {"reason": "Showing an example"}
ORDERS = {"1234": ("ann", "It is on its way."), "5678": ("ben", "It was delivered.")}


class Orders(BaseHTTPRequestHandler):
    """The shop's service, which tells each person only about their own orders."""

    secret = ""

    def do_GET(self) -> None:
        """Answer a call that Skein has signed."""
        address = f"http://127.0.0.1:{self.server.server_address[1]}{self.path}"
        try:
            context = verify_call(self.secret, dict(self.headers), "GET", address)
        except BadSignature:
            self.send_error(401)
            return
        owner, state = ORDERS.get(self.path.rpartition("/")[2], (None, ""))
        told = state if owner == context["person"] else "This person has no such order."
        body = json.dumps({"state": told}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing: the example prints the chat."""


def main(url: str = URL) -> list[str]:
    """Ask about an order, ask for a person, and return the chat."""
    operator = sign_in(TENANT, "operator", "Mia", "chat admin", url)
    ann = sign_in(TENANT, "ann", "Ann", url=url)
    with ThreadingHTTPServer(("127.0.0.1", 0), Orders) as service:
        Thread(target=service.serve_forever, args=(0.05,), daemon=True).start()
        tool = {
            "name": "order_status",
            "description": "Look up the state of an order by its number.",
            "parameters": {
                "type": "object",
                "properties": {"order": {"type": "string"}},
                "required": ["order"],
            },
            "privacy": "keeps_by_person",
            "effect": "read",
            "http": {
                "method": "GET",
                "url": f"http://127.0.0.1:{service.server_port}/orders/{{order}}",
            },
        }
        Orders.secret = operator.call("POST", "/v1/tools", tool)["secret"]
        agent = {
            "name": "Hugo",
            "system_prompt": "You help customers of a shop.",
            "reply_mode": "text",
            "enabled_tools": ["send_message", "order_status", "ask_a_person"],
            "listed": True,
        }
        hugo = operator.call("POST", "/v1/agents", agent)["id"]
        members = [{"kind": "agent", "id": hugo}]
        opened = {"kind": "direct", "visibility": "private", "members": members}
        chat = f"/v1/chats/{ann.call('POST', '/v1/chats', opened)['id']}"
        for text in ("Where is my order 1234?", "I want to talk to a human."):
            ann.call("POST", f"{chat}/messages", {"text": text, "client_id": text})
            local("drain", {}, url)
        service.shutdown()

    # Mia from the team: she takes the chat, answers, and hands it back.
    operator.call("PUT", f"{chat}/desk", {"holder": "me", "name": "Mia"}, REASON)
    answer = {"text": "Hello Ann, your parcel comes at noon.", "client_id": "1"}
    operator.call("POST", f"{chat}/desk/messages", answer)
    operator.call("DELETE", f"{chat}/desk", {"briefing": "Ann's parcel comes at noon."})
    messages = ann.call("GET", f"{chat}/messages")["items"]
    return [f"{each['sender']['name']}: {each['text']}" for each in messages]


if __name__ == "__main__":
    print(*main(), sep="\n")
