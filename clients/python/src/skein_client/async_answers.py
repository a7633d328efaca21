"""Answers whose words arrive while an agent writes them."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from skein_client.api_types import MessageResource, NewChatMessage
from skein_client.async_live import AsyncLive
from skein_client.errors import NoAnswer, Unreachable
from skein_client.events import Answer, Connected, Lost, Message, Words

if TYPE_CHECKING:
    from skein_client.async_client import AsyncClient


async def stream_answer(
    client: "AsyncClient", chat_id: str, new: NewChatMessage, seconds: float
) -> AsyncIterator[Words]:
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
    answer, live = Answer(chat_id), AsyncLive(client)
    posted: MessageResource | None = None
    async with aclosing(live.events(seconds=seconds)) as events:
        async for event in events:
            if posted is None:
                posted = await client.messages.send(chat_id, new)
            for words in answer.add(event):
                yield words
            found = None
            if isinstance(event, Message) and _answers(event.message, posted):
                found = event.message
            elif isinstance(event, Connected | Lost):
                found = await _answer_to(client, posted)
            if found is not None:
                yield answer.end(found)
                return
    if posted is None:
        raise Unreachable("the live channel did not open in time")
    raise NoAnswer(posted)


async def _answer_to(client: "AsyncClient", posted: MessageResource) -> MessageResource | None:
    async for message in client.messages.list(posted["chat_id"], after=posted["seq"]):
        if _answers(message, posted):
            return message
    return None


def _answers(message: MessageResource, posted: MessageResource) -> bool:
    in_chat = message["chat_id"] == posted["chat_id"] and message["seq"] > posted["seq"]
    return in_chat and message["sender"]["kind"] != "user"
