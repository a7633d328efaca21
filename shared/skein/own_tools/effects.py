"""The effect of an answer to a request for approval of a tool call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from skein.errors import AlreadyAsked
from skein.models.chats.chat import Message
from skein.models.runs.requested_call import CallData
from skein.own_tools.waiting import WaitingCalls
from skein.services.chats.post_message import NewMessage
from skein.services.choices.effect import AnswerEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEffect(AnswerEffect):
    """The effect of the answer: a run of the agent starts and, after a yes, makes the call."""

    triggers_agent: ClassVar[bool] = True

    waiting: WaitingCalls

    def check_asked(self, new: NewMessage, asked: Sequence[Message]) -> None:
        """Raise `AlreadyAsked` if the agent's question about an equal call is open in this chat.

        If the new question comes from the tool's service, `AlreadyAsked` is raised only if the same
        question of the service is open.
        """
        home = (new.chat_id, new.sender)
        here = [each.choice for each in asked if (each.chat_id, each.sender.ref) == home]
        if new.choice is None or not here:
            return
        wanted = CallData.from_item(new.choice.data)
        found = [CallData.from_item(choice.data) for choice in here if choice is not None]
        calls = [each.call for each in found if each.asks == wanted.asks]
        if self.waiting.has_equal(new.tenant, wanted.call, calls):
            raise AlreadyAsked
