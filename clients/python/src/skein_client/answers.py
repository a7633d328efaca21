"""Answers whose words arrive while an agent writes them."""

# Generated from async_answers.py by `make client-types`.

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from skein_client.api_types import MessageResource, NewChatMessage
from skein_client.errors import NoAnswer, Unreachable
from skein_client.events import Answer, Connected, Lost, Message, Words
from skein_client.live import Live

if TYPE_CHECKING:
    from skein_client.client import Client


def stream_answer(
    client: "Client", chat_id: str, new: NewChatMessage, seconds: float
) -> Iterator[Words]:
    """Post a message once the live channel is open, and yield the words of the first answer.

    If the live channel cannot be opened, the answer is read between the attempts to connect, and
    yielded as a whole.

    Args:
        client: The API.
        chat_id: The chat.
        new: The message.
        seconds: How long to wait for the answer.

    Raises:
        NoAnswer: No answer has arrived in time.
        ApiError: The API refused a call, or failed.
        Unreachable: There is no response.
    """
    answer, live = Answer(chat_id), Live(client)
    posted: MessageResource | None = None
    with closing(live.events(seconds=seconds)) as events:
        for event in events:
            if posted is None:
                posted = client.messages.send(chat_id, new)
            yield from answer.add(event)
            found = None
            if isinstance(event, Message) and _answers(event.message, posted):
                found = event.message
            elif isinstance(event, Connected | Lost):
                found = _answer_to(client, posted)
            if found is not None:
                yield answer.end(found)
                return
    if posted is None:
        raise Unreachable("the live channel did not open in time")
    raise NoAnswer(posted)


def _answer_to(client: "Client", posted: MessageResource) -> MessageResource | None:
    for message in client.messages.list(posted["chat_id"], after=posted["seq"]):
        if _answers(message, posted):
            return message
    return None


def _answers(message: MessageResource, posted: MessageResource) -> bool:
    in_chat = message["chat_id"] == posted["chat_id"] and message["seq"] > posted["seq"]
    return in_chat and message["sender"]["kind"] != "user"
