"""A small HTTP server that speaks Bedrock's Converse API and says what a test scripted.

It is used like `ScriptedOpenAI`, whose API it answers as well:

    with ScriptedConverse() as bedrock, bedrock.at_endpoint():
        bedrock.say("Hello!")
        ConverseModel(Aws(Settings())).complete(...)
        assert bedrock.sent[0]["system"] == [{"text": "You are a coach."}]

`calls` has the requests in the form of chat completions, and `sent` as they came.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from tests.support.converse_wire import (
    CONTENT_TYPE,
    RefusedError,
    asked_for,
    called_at,
    chat_request,
    converse_response,
    error_of,
    frame,
    stream_events,
)
from tests.support.scripted_openai import Answer, Call, ScriptedOpenAI, _completion


class ScriptedConverse(ScriptedOpenAI):
    """The server; listens on loopback while it is entered as a context manager."""

    def __init__(self, *script: Any, **options: Any) -> None:
        super().__init__(*script, **options)
        self.sent: list[dict[str, Any]] = []
        self.written: int = 0  # tokens that the next answers say were written to the cache
        self.stream_error: tuple[str, str] | None = None  # an exception at the end of a stream

    @property
    def endpoint(self) -> str:
        """The URL of the stand-in for Bedrock."""
        return self.base_url.removesuffix("/v1")

    def at_endpoint(self) -> AbstractContextManager[None]:
        """Let this process and its children call the stand-in."""
        return called_at(self.endpoint)

    def frames(self, answer: Answer, response: Mapping[str, Any]) -> list[bytes]:
        """Return the frames of a streamed answer, up to the point where it breaks off."""
        events = stream_events(response)
        frames = [frame(kind, payload) for kind, payload in answer.sent_of(events)]
        if self.stream_error is not None:
            kind, message = self.stream_error
            frames = [*frames[:2], frame(kind, {"message": message}, error=True)]
        return frames

    def _send(
        self, handler: Any, answer: Answer, chat: dict[str, Any], body: Mapping[str, Any]
    ) -> None:
        if answer.status != 200:
            handler._fail(answer.status, answer.text)
            return
        if answer.raw is not None:
            handler._respond(200, answer.raw, answer.headers, trickle=answer.trickle)
            return
        response = converse_response(_completion(answer, chat), body, written=self.written)
        if not chat.get("stream"):
            data = json.dumps(response).encode()
            handler._respond(200, data, answer.headers, trickle=answer.trickle)
            return
        handler.send_response(200)
        handler.send_header("content-type", CONTENT_TYPE)
        handler.end_headers()
        handler.close_connection = True
        for each in self.frames(answer, response):
            handler.wfile.write(each)
            self._closing.wait(answer.pause)

    def _handler(self) -> Any:
        owner, base = self, super()._handler()

        class Handler(base):  # type: ignore[misc,valid-type]
            def do_POST(self) -> None:  # noqa: N802
                asked = asked_for(self.path)
                if asked is None:
                    super().do_POST()
                    return
                model, streamed = asked
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.sent.append({"modelId": model, **body})
                try:
                    chat = chat_request(model, body, stream=streamed)
                except RefusedError as error:
                    self._fail(400, str(error))
                    return
                answer = owner._next(Call(self.path, headers, chat))
                if not owner._is_lost(answer, self):
                    owner._send(self, answer, chat, body)

            def _fail(self, status: int, message: str | None) -> None:
                headers, payload = error_of(status, message)
                self._respond(status, json.dumps(payload).encode(), headers)

        return Handler
