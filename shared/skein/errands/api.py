"""Resources of the HTTP API: errands."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field

from skein.errands.models.errand import Errand, ErrandState
from skein.models.api.base import CreatedAt, Id, IdOfAgent, IdOfChat, Page, Resource
from skein.models.common.base import Instant, NamedMember


class ErrandPersonResource(Resource):
    """A person of an errand."""

    id: Id
    name: Annotated[str, Field(description="The name at the time.")]

    @classmethod
    def named(cls, member: NamedMember) -> Self:
        return cls(id=member.id, name=member.name)


class ErrandResource(Resource):
    """A question that somebody asked an agent to take to another person.

    Until its deadline, an errand without an answer has the state `open`, even if the person
    couldn't be reached.
    """

    id: Id
    group_id: Annotated[str, Field(description="The same for all people of one order.")]
    agent_id: IdOfAgent
    chat_id: IdOfChat
    asked_by: Annotated[ErrandPersonResource, Field(description="Who asks.")]
    asked: Annotated[ErrandPersonResource, Field(description="Who is asked.")]
    question: Annotated[str | None, Field(description="The question; null if withheld.")]
    text: Annotated[
        str | None, Field(description="The text that the person gets; null if withheld.")
    ]
    answer: Annotated[
        str | None,
        Field(description="Exactly the words of the answer; null without one, or if withheld."),
    ]
    state: Annotated[ErrandState, Field(description="The current state.")]
    until: Annotated[Instant, Field(description="The deadline.")]
    answered_at: Annotated[
        Instant | None, Field(description="When the person answered; null without an answer.")
    ]
    created_at: CreatedAt

    @classmethod
    def shown(cls, errand: Errand, now: datetime, *, words: bool = True) -> Self:
        """Build the resource of an errand at a time.

        Args:
            words: Whether the question and the answer are shown.
        """
        made: dict[str, Any] = {
            "asked_by": ErrandPersonResource.named(errand.asked_by),
            "asked": ErrandPersonResource.named(errand.asked),
            "state": errand.state(now),
        }
        if not words:
            made |= dict.fromkeys(("question", "text", "answer"))
        shared = {name: getattr(errand, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)


class ErrandPage(Page[ErrandResource]):
    """A page of errands, newest first."""
