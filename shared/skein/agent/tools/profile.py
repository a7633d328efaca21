"""The tool `update_profile`, which changes the profile of a direct chat's person."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.errors import Correctable, Failed, Unprocessable
from skein.interface.arguments import LINE, TEXT
from skein.interface.history import History
from skein.interface.reading import person_at, profile_audience
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext, authors_of, content_of
from skein.models.common.base import NamedMember
from skein.models.common.effects import effect_id
from skein.models.directory.profile_change import ProfileSource
from skein.models.visibility.audience import may_show
from skein.services.directory.users import Profiles
from skein.services.items.store import NOT_FROM_HERE, STAYS_HERE

FieldName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), LINE
]
ProfileText = Annotated[str, Field(max_length=1_000), TEXT]
ProfileTexts = Annotated[list[ProfileText], Field(max_length=20)]


@tool(effect="save")
def update_profile(
    call: ToolContext,
    field: Annotated[FieldName, Field(description="A field that USER PROFILE names.")],
    value: Annotated[
        ProfileText | ProfileTexts | None,
        Field(description="The whole new value; leave it out to clear the field."),
    ] = None,
) -> str:
    """Save what the person of this direct chat says about themselves."""
    run, reading = call.activation.run, call.reading
    person = person_at(reading.chat)
    if person is None or reading.chat is None or reading.chat.id != run.chat_id:
        raise Failed("this is not a direct chat with a person, so there is no profile to change")
    if authors_of(call).by_rule:
        raise Failed(STAYS_HERE)
    if not may_show(content_of(call), profile_audience(person.id)):
        raise Failed(NOT_FROM_HERE)
    allowed = reading.agent.profile_fields
    if field not in allowed:
        raise Correctable(f"allowed fields: {', '.join(allowed) or 'nothing'}")
    try:
        call.service(Profiles).set_field(
            run.tenant,
            person,
            field,
            value,
            source=_source(call, person),
            effect=effect_id(call.effect),
            guard=call.activation.claim.guard,
        )
    except Unprocessable as error:
        raise Correctable(str(error)) from None
    return f"{field} noted" if value is not None else f"{field} cleared"


def _source(call: ToolContext, person: NamedMember) -> ProfileSource:
    """Return the source of a value: the run, and the person's messages that it answers."""
    run, reading = call.activation.run, call.reading
    reply = run.resumed.seq if run.resumed is not None else None
    messages = [
        one
        for one in reading.of(History).messages
        if one.sender.ref == person.ref and (one.seq in run.trigger.seqs or one.seq == reply)
    ]
    return ProfileSource(
        made_by="update_profile",
        agent_id=run.agent_id,
        chat_id=run.chat_id or "",
        seqs=tuple(sorted(one.seq for one in messages)),
        said_at=max((one.created_at for one in messages), default=reading.now),
        run_id=run.id,
    )
