"""The tool `ask_choice`, which asks a person in the active chat a question."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from skein.agent.sections.participants import speakers_in
from skein.agent.spoken_text import spoken
from skein.agent.tools.chats import own_chat
from skein.agent.tools.send_message import origin_of, remember_sent
from skein.errors import Correctable, ExtraWriteFailed, LostLease
from skein.interface.arguments import LINE, TEXT, Id
from skein.interface.names import Names
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext, place_of
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import MAX_LABEL, MAX_OPTIONS, MAX_QUESTION, Option
from skein.models.chats.names import folded, plain_name
from skein.models.common.base import NamedMember
from skein.models.common.storage import Write
from skein.models.visibility.audience import NOBODY, Audience
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.choices.asking import Asking, NewChoice
from skein.services.visibility.audience import audience_of
from skein.services.visibility.disclosure import check_post

MIN_OPTIONS = 2


def _distinct(labels: list[str]) -> list[str]:
    if len({label.casefold() for label in labels}) < len(labels):
        raise PydanticCustomError("distinct", "Options should differ")
    return labels


QuestionText = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION), TEXT]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL),
    LINE,
]
Labels = Annotated[
    list[Label],
    Field(min_length=MIN_OPTIONS, max_length=MAX_OPTIONS),
    AfterValidator(_distinct),
]


@tool(effect="send")
def ask_choice(
    call: ToolContext,
    question: QuestionText,
    options: Annotated[
        Labels | None,
        Field(description="2 to 5 labels; none for an answer in words."),
    ] = None,
    person: Annotated[Id | None, Field(description="Name or id, in a group.")] = None,
) -> str:
    """Ask one person here. The answer starts a new run."""
    run = call.activation.run
    chat, _ = own_chat(call, call.target(None))
    asked = _addressee(chat, call.names(), person)
    words = spoken(question, speakers_in(call.reading))
    if not words:
        raise Correctable("nothing was asked: the question has no words for people")
    new = NewChoice(
        tenant=run.tenant,
        chat_id=chat.id,
        agent=call.activation.claim.agent,
        client_id=call.effect,
        addressee=asked.id,
        question=words,
        options=tuple(
            Option(id=str(number), label=label) for number, label in enumerate(options or (), 1)
        ),
        **run.posting,
        origin=origin_of(call, chat.id),
    )
    posted, heard_by = _asked(call, new)
    remember_sent(call, posted, heard_by)
    place = place_of(call, posted.chat_id, posted.seq)
    return f"asked as {place}; the answer starts a new run, so do not wait for it"


def _asked(call: ToolContext, new: NewChoice) -> tuple[Message, Audience]:
    """Post the question; return its message and the people who read it.

    Raises:
        LostLease: Another worker has taken the run over.
    """
    run, heard_by = call.activation.run, NOBODY

    def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
        nonlocal heard_by
        check_post(run, snapshot.chat)
        heard_by = audience_of(snapshot.chat, since_seq=snapshot.chat.last_seq + 1)
        return (call.activation.claim.guard,)

    try:
        posted = call.service(Asking).ask(new, extra_writes=extra_writes).message
    except ExtraWriteFailed as error:
        raise LostLease(run.id) from error
    return posted, heard_by


def _addressee(chat: Chat, names: Names, person: str | None) -> NamedMember:
    """Return the person to ask, by the name in the prompt or by id.

    Without a name, the only person of the chat is returned.

    Raises:
        Correctable: The chat has no such person, or several people match.
    """
    people = [member for member in chat.roster if member.kind == "user"]
    named = names.joined(people)
    wanted = folded(person) if person is not None else None
    if wanted is None:
        found = people
    else:
        found = [each for each in people if person == each.id or folded(named[each]) == wanted]
        found = found or [each for each in people if folded(plain_name(each)) == wanted]
    if len(found) != 1:
        here = ", ".join(named[each] for each in people) or "nobody"
        raise Correctable(f"person: name one of the people here: {here}")
    return found[0]
