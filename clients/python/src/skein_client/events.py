"""Events of the live channel, and the words of answers that agents are writing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skein_client.api_types import MessageResource


@dataclass(frozen=True)
class Connected:
    """The connection is open, and the messages that were missed have been read."""


@dataclass(frozen=True)
class Lost:
    """The connection was lost; the client connects again.

    Attributes:
        error: Why the connection was lost.
    """

    error: Exception


@dataclass(frozen=True)
class Message:
    """A new message. Each message is reported once, in the order of `seq` within its chat."""

    message: MessageResource


@dataclass(frozen=True)
class Draft:
    """The words of an answer that an agent is writing.

    Attributes:
        chat_id: The chat.
        agent: The agent, with `id` and `name`.
        text: All words so far; "" if the draft is void. The message that follows is authoritative.
        ended: Whether the draft is void because the agent has ended its answer.
    """

    chat_id: str
    agent: Mapping[str, Any]
    text: str
    ended: bool = False


@dataclass(frozen=True)
class OtherFrame:
    """Any other frame, as it arrived: `changed`, `run`, `read`, `typing`, `chat`, `closing`."""

    frame: Mapping[str, Any]


Event = Connected | Lost | Message | Draft | OtherFrame


class Drafts:
    """The words of the answers that agents are writing."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, str], tuple[Draft, int]] = {}

    def take(self, frame: Mapping[str, Any]) -> Iterator[Draft]:
        """Take any frame; yield the drafts that the frame changes."""
        match frame["type"]:
            case "delta":
                yield from self.add(frame)
            case "retract":
                yield from self.void(frame["chat_id"], frame["agent"])
            case "run" if frame["status"] in {"done", "failed"}:
                yield from self.void(frame["chat_id"], frame["agent"], ended=True)

    def add(self, frame: Mapping[str, Any]) -> Iterator[Draft]:
        """Take a `delta` frame; a frame that is repeated, or that follows a gap, is ignored."""
        chat_id, agent, n, text = frame["chat_id"], frame["agent"], frame["n"], frame["text"]
        key = chat_id, agent["id"]
        begun, last = self._drafts.get(key, (None, -1))
        if n == 1:
            grown = Draft(chat_id, agent, text)
        elif begun is not None and n == last + 1:
            grown = Draft(chat_id, agent, begun.text + text)
        else:
            return
        self._drafts[key] = grown, n
        if grown != begun:
            yield grown

    def void(
        self, chat_id: str, agent: Mapping[str, Any], *, ended: bool = False
    ) -> Iterator[Draft]:
        """Void the draft of an agent in a chat, if there is one."""
        if self._drafts.pop((chat_id, agent["id"]), None) is not None:
            yield Draft(chat_id, agent, "", ended)

    def void_all(self) -> Iterator[Draft]:
        """Void all drafts."""
        for draft, _ in list(self._drafts.values()):
            yield from self.void(draft.chat_id, draft.agent)


@dataclass(frozen=True)
class Words:
    """Words of an answer that is being written.

    Attributes:
        text: The answer so far; "" if its words were retracted.
        new: The words to add to the previous ones; all of `text` if the answer restarts.
        restarts: Whether the previous words are void, so that `text` replaces them.
        message: The answer as it is stored, with the last words; None before.
    """

    text: str
    new: str
    restarts: bool = False
    message: MessageResource | None = None


class Answer:
    """Builder of the first answer in a chat, from the events of the live channel.

    Args:
        chat_id: The chat.
    """

    def __init__(self, chat_id: str) -> None:
        self._chat_id = chat_id
        self._agent: str | None = None
        self._shown = ""

    def add(self, event: Event) -> Iterator[Words]:
        """Take an event; yield the words that it adds or retracts."""
        # The message follows when an agent has ended its answer, so its words stay.
        if not isinstance(event, Draft) or event.ended or event.chat_id != self._chat_id:
            return
        if self._agent in {None, event.agent["id"]}:  # the words of one agent at a time
            self._agent = event.agent["id"] if event.text else None
            yield self._grown(event.text)

    def end(self, message: MessageResource) -> Words:
        """Return the last words, with the message of the answer."""
        return self._grown(message["text"] or "", message)

    def _grown(self, text: str, message: MessageResource | None = None) -> Words:
        before, self._shown = self._shown, text
        if text.startswith(before):
            return Words(text, text[len(before) :], message=message)
        return Words(text, text, restarts=True, message=message)
