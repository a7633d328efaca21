"""Calls of the HTTP API, with the types of the OpenAPI document (`skein_client.api_types`)."""

# Generated from async_client.py by `make client-types`.

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from types import TracebackType
from typing import Any, Literal, Self, cast, overload
from uuid import uuid4

import httpx2

from skein_client.answers import stream_answer
from skein_client.api_types import (
    ChatChange,
    ChatMemberResource,
    ChatResource,
    MediaLinkResource,
    MessageResource,
    NewAnswer,
    NewChat,
    NewChatMessage,
    OpenChoiceResource,
    RecalledMessage,
    TicketResource,
    UploadResource,
)
from skein_client.backoff import Backoff
from skein_client.calls import (
    Agents,
    Approvals,
    Desk,
    Lines,
    Plans,
    Tools,
    Users,
)
from skein_client.errors import ApiError, NoAnswer, Unreachable, error_of
from skein_client.events import Words
from skein_client.paths import path

LOCAL = "http://127.0.0.1:8787"  # a local stack
PAGE = 100
MIN_PAUSE, MAX_PAUSE, PAUSE_GROWTH = 0.5, 3.0, 1.5  # between looks for an answer, in seconds
MAX_RETRY_AFTER = 60.0  # seconds; a longer pause is for the caller to decide
REPEATABLE = frozenset({"GET", "POST", "PUT", "DELETE"})
# Ends of paths that are not retried, because each attempt would do the work again.
RUNS_AGAIN = ("/v1/live", "/try", "/replay", "/drafts")


class Client:
    """Client of the API for one person or operator, whose token it sends.

    A failed call is retried if that has no second effect: `GET`, `PUT`, `DELETE`, and `POST`, which
    sends one `Idempotency-Key` with all its attempts. `PATCH` is not retried. Neither are `try`,
    `replay`, drafts and live tickets, because each attempt would do the work again.

    Args:
        url: The URL of the API; by default that in `SKEIN_URL`, or else that of a local stack.
        token: The token, or a function that returns a current one; by default that in
            `SKEIN_TOKEN`. The function raises `Unreachable` or an `OSError` if it gets none, for
            example because it is offline.
        timeout: The longest wait for a response, in seconds.
        retries: How often a call is retried after a temporary failure.
        http: A client of `httpx2` to use, for example with a proxy.

    Raises:
        ValueError: There is no token.

    Attributes:
        agents: Agents: those to which people may write, and all agents for operators.
        chats: The person's chats.
        members: The members of chats.
        messages: The messages of chats.
        media: Pictures and files of messages.
        choices: The questions and invitations that the person can answer.
        approvals: Calls of tools that wait for an operator.
        desk: Chats that people of the team take over.
        lines: Phone numbers of agents.
        plans: Future runs of agents.
        tools: Tools of your own.
        users: People, as operators manage them.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | Callable[[], str] | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 2,
        http: httpx2.Client | None = None,
    ) -> None:
        self._url = (url or os.environ.get("SKEIN_URL") or LOCAL).rstrip("/")
        self._token = token or os.environ.get("SKEIN_TOKEN") or ""
        if not self._token:
            raise ValueError("there is no token: pass one, or set SKEIN_TOKEN")
        self._timeout = timeout
        self._retries = retries
        self._http = http or httpx2.Client()
        self._bind()

    def _bind(self) -> None:
        self.agents = Agents(self)
        self.chats = Chats(self)
        self.members = Members(self)
        self.messages = Messages(self)
        self.media = Media(self)
        self.choices = Choices(self)
        self.approvals = Approvals(self)
        self.desk = Desk(self)
        self.lines = Lines(self)
        self.plans = Plans(self)
        self.tools = Tools(self)
        self.users = Users(self)

    def with_retries(self, retries: int) -> "Client":
        """Return a client with the same connections that retries a call up to `retries` times."""
        made = copy(self)
        made._retries = retries
        made._bind()
        return made

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Return the client, whose connections are closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a call; return the JSON of its response, or None if it has none.

        Args:
            method: The HTTP method.
            path: The path, for example `/v1/me`.
            body: The body, as a value for JSON.
            query: The query parameters; parameters that are None are omitted.

        Raises:
            ApiError: The API refused the call, or failed.
            Unreachable: There is no response.
        """
        again = method in REPEATABLE and not path.endswith(RUNS_AGAIN)
        left = self._retries if again else 0
        headers = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        backoff = Backoff()
        while True:
            try:
                return self._call_once(method, path, body, query, headers)
            except ApiError as error:
                wanted = error.retry_after or 0.0
                if not left or not error.is_temporary or wanted > MAX_RETRY_AFTER:
                    raise
                pause = max(backoff.seconds(), wanted)
            except Unreachable as error:
                if not left or error.answered:
                    raise
                pause = backoff.seconds()
            left -= 1
            time.sleep(pause)

    def _call_once(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, Any] | None,
        more: Mapping[str, str],
    ) -> Any:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            headers = {"Authorization": f"Bearer {self._current_token()}", **more}
            # The API has no redirects, and another server must not get the token.
            response = self._http.request(
                method,
                f"{self._url}{path}",
                params=given,
                json=body,
                headers=headers,
                timeout=self._timeout,
                follow_redirects=False,
            )
        except (OSError, httpx2.HTTPError) as error:
            raise Unreachable(f"{method} {path}: {error!r}") from error
        if response.is_redirect:
            raise Unreachable(f"{path}: redirected with {response.status_code}", answered=True)
        if not response.is_success:
            raise error_of(response)
        try:
            return response.json() if response.content else None
        except ValueError as error:
            message = f"{method} {path}: the response is not JSON"
            raise Unreachable(message, answered=True) from error

    def put_file(self, upload: UploadResource, data: bytes) -> None:
        """Send a file to a signed URL, without the token."""
        url, headers = upload["url"], upload["headers"]
        try:
            response = self._http.request(
                upload["method"], url, content=data, headers=headers, timeout=self._timeout
            )
        except (OSError, httpx2.HTTPError) as error:
            raise Unreachable(f"upload: {type(error).__name__}") from error
        if not response.is_success:
            raise error_of(response)

    def _current_token(self) -> str:
        if isinstance(self._token, str):
            return self._token
        return self._token()

    def items(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Yield the items of all pages of a list.

        Raises:
            ApiError: The API refused a call, or failed.
            Unreachable: There is no response.
        """
        cursor = None
        while True:
            given = {"limit": PAGE, **(query or {}), "cursor": cursor}
            page = self.call("GET", path, query=given)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def search(self, text: str, *, limit: int = 20) -> list[RecalledMessage]:
        """Find messages of the person's chats by meaning, words, names and time, best first."""
        found = self.call("GET", "/v1/me/messages", query={"q": text, "limit": limit})
        return cast("list[RecalledMessage]", found["items"])

    def ticket(self) -> TicketResource:
        """Get a ticket, which opens one live connection within 60 seconds."""
        return cast("TicketResource", self.call("POST", "/v1/live"))


class Chats:
    """The person's chats (`client.chats`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> Iterator[ChatResource]:
        """Yield the person's chats, newest first."""
        return self._client.items("/v1/chats")

    def get(self, chat_id: str) -> ChatResource:
        """Return a chat."""
        return cast("ChatResource", self._client.call("GET", path("/v1/chats/{}", chat_id)))

    def create(self, new: NewChat) -> ChatResource:
        """Open a chat; a `client_id` is added if `new` has none."""
        given = {"client_id": str(uuid4()), **new}
        return cast("ChatResource", self._client.call("POST", "/v1/chats", given))

    def open(self, agent_id: str) -> ChatResource:
        """Open a direct chat with an agent."""
        return self.create({"kind": "direct", "members": [{"kind": "agent", "id": agent_id}]})

    def change(self, chat_id: str, change: ChatChange) -> ChatResource:
        """Update a chat; omitted fields stay unchanged."""
        return cast(
            "ChatResource", self._client.call("PATCH", path("/v1/chats/{}", chat_id), change)
        )

    def discard(self, chat_id: str) -> None:
        """Discard a chat."""
        self._client.call("DELETE", path("/v1/chats/{}", chat_id))

    @overload
    def ask(
        self,
        chat_id: str,
        text: str,
        *,
        client_id: str | None = None,
        seconds: float = 60.0,
        stream: Literal[False] = False,
    ) -> MessageResource: ...

    @overload
    def ask(
        self,
        chat_id: str,
        text: str,
        *,
        client_id: str | None = None,
        seconds: float = 60.0,
        stream: Literal[True],
    ) -> Iterator[Words]: ...

    def ask(
        self,
        chat_id: str,
        text: str,
        *,
        client_id: str | None = None,
        seconds: float = 60.0,
        stream: bool = False,
    ) -> MessageResource | Iterator[Words]:
        """Post a message and return the first answer of an agent, or of the team.

        If an earlier call had the same `client_id`, no second message is posted. The answer to the
        earlier message is returned.

        Args:
            chat_id: The chat.
            text: The message.
            client_id: The idempotency key; a new one by default.
            seconds: How long to wait for the answer.
            stream: Whether to yield the answer's words as they arrive over the live channel. The
                last `Words` contain the answer's message. The question is posted when the first
                words are awaited.

        Raises:
            NoAnswer: No answer has arrived in time.
            ApiError: The API refused a call, or failed.
            Unreachable: There is no response.
        """
        new: NewChatMessage = {"text": text, "client_id": client_id or str(uuid4())}
        if stream:
            return stream_answer(self._client, chat_id, new, seconds)
        return self._answer(chat_id, new, seconds)

    def _answer(self, chat_id: str, new: NewChatMessage, seconds: float) -> MessageResource:
        posted = self._client.messages.send(chat_id, new)
        ends, pause, seen = time.monotonic() + seconds, MIN_PAUSE, posted["seq"]
        while True:
            for message in self._client.messages.list(chat_id, after=seen):
                if message["sender"]["kind"] != "user":
                    return message
                seen = message["seq"]
            left = ends - time.monotonic()
            if left <= 0:
                raise NoAnswer(posted)
            time.sleep(min(pause, left))
            pause = min(PAUSE_GROWTH * pause, MAX_PAUSE)


class Members:
    """The members of chats (`client.members`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, chat_id: str) -> Iterator[ChatMemberResource]:
        """Yield the members of a chat, and the people who are invited to it."""
        return self._client.items(path("/v1/chats/{}/members", chat_id))

    def add(self, chat_id: str, kind: str, member_id: str) -> ChatResource:
        """Add a `user` or an `agent`, or invite a person who shares no chat with the caller."""
        target = path("/v1/chats/{}/members/{}/{}", chat_id, kind, member_id)
        return cast("ChatResource", self._client.call("PUT", target))

    def remove(self, chat_id: str, kind: str, member_id: str) -> None:
        """Remove a member, leave the chat, or withdraw an own invitation."""
        self._client.call("DELETE", path("/v1/chats/{}/members/{}/{}", chat_id, kind, member_id))


class Messages:
    """The messages of chats (`client.messages`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, chat_id: str, *, after: int = 0) -> Iterator[MessageResource]:
        """Yield the messages of a chat with a higher `seq` than `after`, oldest first."""
        return self._client.items(path("/v1/chats/{}/messages", chat_id), {"after": after})

    def post(
        self,
        chat_id: str,
        text: str | None,
        *,
        media: Sequence[str] = (),
        client_id: str | None = None,
        reply_to: int | None = None,
    ) -> MessageResource:
        """Post a message; with a repeated `client_id`, return the message that exists.

        Args:
            chat_id: The chat.
            text: The message; None for pictures or files alone.
            media: The ids of uploaded files.
            client_id: The idempotency key; a new one by default.
            reply_to: The `seq` of the message that the new message answers.
        """
        new: NewChatMessage = {"text": text, "client_id": client_id or str(uuid4())}
        if media:
            new["media"] = [*media]
        if reply_to is not None:
            new["reply_to"] = reply_to
        return self.send(chat_id, new)

    def send(self, chat_id: str, new: NewChatMessage) -> MessageResource:
        """Post a message as it is given; see `post`."""
        target = path("/v1/chats/{}/messages", chat_id)
        return cast("MessageResource", self._client.call("POST", target, new))

    def delete(self, chat_id: str, seq: int) -> None:
        """Delete your own message."""
        self._client.call("DELETE", path("/v1/chats/{}/messages/{}", chat_id, seq))

    def mark_read(self, chat_id: str, seq: int) -> None:
        """Mark the messages of a chat as read, up to this one."""
        self._client.call("POST", path("/v1/chats/{}/read", chat_id), {"seq": seq})


class Media:
    """Pictures and files of messages (`client.media`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def upload(self, chat_id: str, data: bytes, content_type: str) -> str:
        """Upload a file for a message of a chat; return its id, for `messages.post`.

        Raises:
            ApiError: The API or the store of files refused the file.
            Unreachable: There is no response.
        """
        new = {
            "chat_id": chat_id,
            "type": content_type,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        upload = cast("UploadResource", self._client.call("POST", "/v1/media", new))
        self._client.put_file(upload, data)
        return upload["id"]

    def link(self, chat_id: str, media_id: str) -> MediaLinkResource:
        """Return a URL of a file, which works for five minutes.

        Raises:
            ApiError: Status 409: the file is still being checked.
            Unreachable: There is no response.
        """
        target = path("/v1/chats/{}/media/{}", chat_id, media_id)
        return cast("MediaLinkResource", self._client.call("GET", target))


class Choices:
    """The questions and invitations that the person can answer (`client.choices`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> Sequence[OpenChoiceResource]:
        """Return the open questions and invitations, oldest first.

        An invitation has no `seq`; `answer_invitation` answers it.
        """
        found = self._client.call("GET", "/v1/me/choices")
        return cast("Sequence[OpenChoiceResource]", found["items"])

    def answer(
        self, chat_id: str, answer: NewAnswer, *, client_id: str | None = None
    ) -> MessageResource:
        """Answer a question of a chat; return the answer's message.

        With a repeated `client_id`, return the message that exists.

        Raises:
            ApiError: Status 403: the question is for another person. 409: it is answered already
                or has expired.
            Unreachable: There is no response.
        """
        new: NewChatMessage = {"choice": answer, "client_id": client_id or str(uuid4())}
        return self._client.messages.send(chat_id, new)

    def answer_invitation(self, chat_id: str, *, accept: bool) -> None:
        """Accept or decline an invitation to a chat."""
        self._client.call("POST", path("/v1/chats/{}/invitation", chat_id), {"accept": accept})
