"""Writing down what the person says of themselves."""

from typing import Annotated

from pydantic import Field

from skein.agent.people import person_at, profile_audience
from skein.agent.tools.base import Call, tool
from skein.agent.tools.ownership import content_of
from skein.errors import Correctable, Failed, Unprocessable
from skein.models.audience import may_change
from skein.models.intent import effect_id
from skein.services.guarded import NOT_FROM_HERE

LONGEST_TEXT = 1_000
MOST_TEXTS = 20


@tool
def update_profile(
    call: Call,
    field: Annotated[
        str, Field(description="One of the fields that USER PROFILE names.", min_length=1)
    ],
    value: Annotated[
        str | list[str] | None,
        Field(description="What it is to hold, all of it; null takes the field away."),
    ] = None,
) -> str:
    """Write down what you have learnt of the person in this direct chat."""
    run, reading = call.work.run, call.reading
    person = person_at(reading.chat)
    if person is None or reading.chat is None or reading.chat.id != run.chat_id:
        raise Failed("this is no direct chat with a person, so there is nobody's profile to change")
    if not may_change(content_of(call), profile_audience(person.id)):
        raise Failed(NOT_FROM_HERE)
    allowed = reading.agent.profile_fields
    if field not in allowed:
        raise Correctable(f"you may set: {', '.join(allowed) or 'nothing'}")
    _check_size(value)
    try:
        call.desk.profiles.note(
            run.tenant,
            person,
            field,
            value,
            agent_id=run.agent_id,
            effect=effect_id(call.effect),
            guard=call.work.claim.guard,
        )
    except Unprocessable as error:
        raise Correctable(str(error)) from None
    return f"{field} noted" if value is not None else f"{field} taken away"


def _check_size(value: str | list[str] | None) -> None:
    texts = value if isinstance(value, list) else [value or ""]
    if len(texts) > MOST_TEXTS or any(len(text) > LONGEST_TEXT for text in texts):
        raise Correctable(
            f"a field holds at most {MOST_TEXTS} texts of {LONGEST_TEXT:,} characters each"
        )
