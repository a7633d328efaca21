"""The effect of an answer to a request for approval of a tool call."""

from collections.abc import Sequence
from typing import ClassVar

from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice
from skein.models.runs.requested_call import CallData
from skein.services.chats.post_message import NewMessage
from skein.services.choices.effect import AnswerEffect, check_once


class CallEffect(AnswerEffect):
    """An answer that starts a run of the agent; after a yes, that run makes the call."""

    triggers_agent: ClassVar[bool] = True

    def check_asked(self, new: NewMessage, asked: Sequence[Message]) -> None:
        """Refuse the same call of the same tool while its question is open."""
        check_once(new, [each for each in asked if _tool(each.choice) == _tool(new.choice)])


def _tool(choice: Choice | None) -> tuple[str, int] | None:
    """Return the name and the version of the tool that a question is about."""
    call = CallData.from_item(choice.data).call if choice is not None else None
    return (call.tool, call.version) if call is not None else None
