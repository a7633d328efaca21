"""An API with one chat and a live channel, which answer as a test says."""

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

AGENT = {"id": "agt_1", "name": "Coach"}
PAGE = 2
SECONDS = 20.0


class ScriptedApi:
    """An API with one chat, whose live channel sends what a test says.

    Attributes:
        texts: The texts of the chat's messages.
        sender: The sender of all messages.
        signed_in: Whether the token is valid.
        refusals: The statuses and headers of the next responses to calls, in place of the answers.
        lost_responses: How many of the next calls take effect, but get no response.
        calls: The calls that have arrived, as method and path.
        sent: Their bodies; None for calls without one.
        expired_tickets: How many of the next tickets open no connection.
        answers_pings: Whether a ping is answered.
        pings: How many pings have arrived.
        frames: The other frames that have arrived.
        connected: How many connections were opened.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.sender: Mapping[str, str] = {"kind": "user", "id": "usr_1", "name": "Dana"}
        self.signed_in = self.answers_pings = True
        self.refusals: list[tuple[int, Mapping[str, str]]] = []
        self.calls: list[str] = []
        self.sent: list[Any] = []
        self.frames: list[Any] = []
        self.pings = self.connected = self.expired_tickets = self.lost_responses = 0
        self._seqs: dict[str, int] = {}  # by client id
        self._sockets: list[ServerConnection] = []
        self._admitted = 0
        self._opened = threading.Condition()
        self._live = serve(self._serve, "127.0.0.1", 0, process_request=self._admit)
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length", "0")))
                self._answer(json.loads(sent) if sent else None)

            def _answer(self, sent: Any = None) -> None:
                status, headers, answer = api.respond(self.command, self.path, sent)
                if api.lost_responses:
                    api.lost_responses -= 1
                    self.close_connection = True
                    return
                body = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._threads = [
            threading.Thread(target=self._live.serve_forever),
            threading.Thread(target=self._http.serve_forever, args=(0.05,)),
        ]
        for thread in self._threads:
            thread.start()

    def respond(
        self, method: str, path: str, sent: Any
    ) -> tuple[int, Mapping[str, str], dict[str, Any]]:
        """Return the status, the headers and the body of a response."""
        self.calls.append(f"{method} {path}")
        self.sent.append(sent)
        if self.refusals:
            status, headers = self.refusals.pop(0)
            return status, headers, {"code": "scripted", "detail": "as the test says"}
        if not self.signed_in:
            return 401, {}, {"message": "Unauthorized"}
        if path.endswith("/invitation"):
            return 200, {}, {}
        if method == "POST" and sent is not None:
            if sent["client_id"] not in self._seqs:
                self.texts.append(sent.get("text") or sent["choice"]["option"])
                self._seqs[sent["client_id"]] = len(self.texts)
            return 201, {}, self.message(self._seqs[sent["client_id"]])
        return 200, {}, self.answer(path)

    def answer(self, path: str) -> dict[str, Any]:
        """Return the body for a path; a page has two items."""
        if path == "/v1/live":
            port = self._live.socket.getsockname()[1]
            return {"url": f"ws://127.0.0.1:{port}/live", "ticket": "secret"}
        target = urlsplit(path)
        query = dict(parse_qsl(target.query))
        if target.path == "/v1/me/choices":
            return {"items": [{"chat_id": "chat_1", "seq": 1}], "next_cursor": None}
        if target.path == "/v1/chats":
            return {"items": [{"id": "chat_1", "last_seq": len(self.texts)}], "next_cursor": None}
        first = int(query.get("cursor", query["after"]))
        seqs = range(first + 1, len(self.texts) + 1)
        items = [self.message(seq) for seq in seqs[:PAGE]]
        return {"items": items, "next_cursor": str(first + PAGE) if len(seqs) > PAGE else None}

    def message(self, seq: int) -> dict[str, Any]:
        """Return a message."""
        text = self.texts[seq - 1]
        return {"chat_id": "chat_1", "seq": seq, "text": text, "sender": self.sender}

    def push(self, seq: int | None = None, *, chat_id: str = "chat_1") -> None:
        """Send the frame of a message, or else a `resync`."""
        frame: dict[str, Any] = {"type": "resync", "chat_id": chat_id}
        if seq is not None:
            frame |= {"type": "message", "message": self.message(seq)}
        self._newest().send(json.dumps(frame))

    def push_words(self, n: int, text: str = "") -> None:
        """Send the n-th frame of words of an agent's answer; 0 for a `retract`."""
        frame = {"chat_id": "chat_1", "agent": AGENT}
        words = {"type": "delta", "n": n, "text": text} if n else {"type": "retract"}
        self._newest().send(json.dumps(frame | words))

    def push_end(self, status: str) -> None:
        """Send the frame of an agent's run that has ended."""
        frame = {"type": "run", "chat_id": "chat_1", "agent": AGENT, "status": status}
        self._newest().send(json.dumps(frame))

    def _newest(self) -> ServerConnection:
        """Return the newest connection, which the server may learn of after its client."""
        with self._opened:
            assert self._opened.wait_for(lambda: len(self._sockets) == self._admitted, SECONDS)
            return self._sockets[-1]

    def drop(self) -> None:
        """Cut the newest connection, without a closing handshake."""
        self._newest().socket.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """Close all connections and stop."""
        for each in self._sockets:
            each.close()
        self._live.shutdown()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join()

    def _admit(self, _: ServerConnection, __: Request) -> Response | None:
        if self.expired_tickets == 0:
            self._admitted += 1
            return None
        self.expired_tickets -= 1
        return Response(HTTPStatus.UNAUTHORIZED, "Unauthorized", Headers(), b"")

    def _serve(self, connection: ServerConnection) -> None:
        with self._opened:
            self._sockets.append(connection)
            self.connected += 1
            self._opened.notify_all()
        with suppress(ConnectionClosedError):
            for frame in connection:
                said = json.loads(frame)
                if said["type"] != "ping":
                    self.frames.append(said)
                    continue
                self.pings += 1
                if self.answers_pings:
                    connection.send('{"type": "pong"}')
