"""The tool `send_message`, which posts in the active chat or in another chat."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, create_model

from skein.agent.sections.participants import speakers_in
from skein.agent.sections.trigger import ShownTrigger
from skein.agent.sections.your_chats import others_listed
from skein.agent.spoken_text import spoken
from skein.agent.tools.sent_files import originals_named
from skein.errors import (
    Conflict,
    Correctable,
    ExtraWriteFailed,
    Failed,
    Forbidden,
    LostLease,
    NotFound,
    RateLimited,
    Unprocessable,
)
from skein.interface.arguments import NOT_SHOWN, TEXT, Id, MessageNumber, Moment
from skein.interface.citations import cited
from skein.interface.section import speaks_in_text
from skein.interface.tool import Tool, tool
from skein.interface.tool_context import ToolContext, place_of
from skein.media.copies import CopiedFiles, Original
from skein.models.chats.chat import MAX_TEXT, Message
from skein.models.chats.choice import MAX_DESTINATIONS
from skein.models.chats.media import MAX_PER_MESSAGE
from skein.models.chats.origin import Origin
from skein.models.common.json_types import JsonBool
from skein.models.common.storage import Write
from skein.models.runs.run import PREVIEW_CHARACTERS, SentMessage
from skein.models.visibility.audience import NOBODY, Audience
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.own_chats import OwnChats
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.choices.proposals import Proposals
from skein.services.common.quoting import quoted, quoted_id
from skein.services.common.schedule import deadline_of
from skein.services.replies.ask_and_wait import Questions
from skein.services.runs.policy import MAX_WAIT, WAIT_SECONDS
from skein.services.visibility.audience import audience_of, destination_of
from skein.services.visibility.disclosure import NeedsConsent, check_post

MessageText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), TEXT]

ORIGIN_CHARACTERS = 200
ELSEWHERE = "Post a message in another of your chats."
ELSEWHERE_OR_FILES = "Post a message in another of your chats, or one with files in this chat."
MORE_CHATS = "More chats for this text."
FILES = "Pictures or files of this chat, such as 12.1, or documents by name."
TEXT_GOES_HERE = (
    "nothing was sent: in this chat, say it with the text of your answer; send_message is for your "
    "other chats, by chat_id"
)
NOTHING_TO_SAY = (
    "nothing was sent: the text has no words for people; if nothing needs to be said, do not call "
    "send_message"
)
UNKNOWN_NUMBER = (
    "nothing was sent: reply_to takes a number of this chat, or of a chat in YOUR CHATS; leave it "
    "out"
)

WAIT = f"true pauses this run until someone writes there, {WAIT_SECONDS // 60} minutes at most."
WAITS_IN_ONE = "nothing was sent: a run waits for a reply in one chat only, so leave also_in out"
WAITS_WITHOUT_FILES = "nothing was sent: a message with files cannot wait for a reply"
FILES_STAY = (
    "refused: people who could not see the file can read that chat; say that you cannot pass it on"
)
ANOTHER_WAIT = "; this run already waits for another question of the same step"
ASKED = (
    "not posted: the person is asked in {place} whether to post exactly this text. Do not say "
    "that it was posted; you learn the answer later"
)


@tool(effect="send")
def send_message(
    call: ToolContext,
    text: MessageText,
    reply_to: Annotated[MessageNumber | None, Field(description="43 for msg:43.")] = None,
    wait: Annotated[JsonBool | None, Field(description=WAIT)] = None,
    until: Annotated[
        Moment | None,
        Field(description="Wait longer, such as 2 days."),
    ] = None,
    chat_id: Id | None = None,
    also_in: Annotated[
        list[Id] | None,
        Field(max_length=MAX_DESTINATIONS, json_schema_extra={NOT_SHOWN: True}),
    ] = None,
    media: Annotated[
        list[Id] | None, Field(max_length=MAX_PER_MESSAGE, json_schema_extra={NOT_SHOWN: True})
    ] = None,
) -> str:
    """Post a message here, or in another chat by chat_id."""
    target = call.target(chat_id)
    here = call.reading.shows(target)
    if speaks_in_text(call.reading) and here and not media:
        raise Correctable(TEXT_GOES_HERE)
    if reply_to is not None and not here and target not in _listed(call):
        raise Correctable(UNKNOWN_NUMBER)  # existing numbers would reveal the chat's length
    words = spoken(text, speakers_in(call.reading))
    if not words:
        raise Correctable(NOTHING_TO_SAY)
    if wait and (also_in or media):
        raise Correctable(WAITS_IN_ONE if also_in else WAITS_WITHOUT_FILES)
    targets = list(dict.fromkeys([target, *(also_in or ())]))
    first = _message(call, words, target, reply_to=reply_to, expects_reply=bool(wait))
    messages = [first, *(_message(call, words, other) for other in targets[1:])]
    with _errors_for_model(call):
        originals = originals_named(call, media or ())
        return _post(call, messages, originals, wait=bool(wait), until=_waits_until(call, until))


@cache
def variant(*, elsewhere: bool, asks: bool, files: bool = False) -> Tool:
    """Return `send_message` with the description and the arguments that fit the situation.

    Args:
        elsewhere: Whether the model's text is posted in the active chat. The tool is then only for
            other chats and files.
        asks: Whether a person may be asked to approve posts in other chats. One question may
            concern several chats.
        files: Whether the agent possibly has files to send, also to the active chat.
    """
    shown: dict[str, Any] = {}
    if elsewhere and not files:
        shown["chat_id"] = (Id, ...)
    if files:
        listed = Field(max_length=MAX_PER_MESSAGE, description=FILES)
        shown["media"] = (Annotated[list[Id] | None, listed], None)
    if asks:
        shown["also_in"] = (Annotated[list[Id] | None, Field(description=MORE_CHATS)], None)
    arguments = create_model(send_message.name, __base__=send_message.arguments, **shown)
    description = send_message.description
    if elsewhere:
        description = ELSEWHERE_OR_FILES if files else ELSEWHERE
    return replace(send_message, description=description, arguments=arguments)


def _message(
    call: ToolContext,
    text: str,
    target: str,
    *,
    reply_to: int | None = None,
    expects_reply: bool = False,
) -> NewMessage:
    run = call.activation.run
    text, sources = cited(text, call.activation.cited) if call.reading.cites else (text, ())
    return NewMessage(
        tenant=run.tenant,
        chat_id=target,
        sender=call.activation.claim.agent,
        text=text,
        sources=sources,
        client_id=call.effect,
        reply_to=reply_to,
        **run.posting,
        expects_reply=expects_reply,
        origin=origin_of(call, target),
    )


@contextmanager
def _errors_for_model(call: ToolContext) -> Iterator[None]:
    try:
        yield
    except ExtraWriteFailed as error:
        raise LostLease(call.activation.run.id) from error
    except NotFound:
        raise Failed("chat not found: you are not a member of a chat with this id") from None
    except (Conflict, Forbidden, RateLimited) as error:
        raise Failed(str(error)) from None
    except Unprocessable as error:
        raise Correctable(str(error)) from None


def _waits_until(call: ToolContext, until: str | None) -> datetime | None:
    if until is None:
        return None
    return deadline_of(until, ZoneInfo(call.reading.zone), call.clock.now(), MAX_WAIT)


def _post(
    call: ToolContext,
    messages: Sequence[NewMessage],
    originals: Sequence[Original],
    *,
    wait: bool,
    until: datetime | None,
) -> str:
    """Post a text in each chat; in chats that require it, ask a person for approval first."""
    done: list[str] = []
    to_agree: list[NewMessage] = []
    for new in messages:
        try:
            if wait and call.may_wait:
                done.append(_ask(call, new, until))
            else:
                done.append(_say(call, new, originals) + (ANOTHER_WAIT if wait else ""))
        except NeedsConsent:
            if originals:  # a person approves only words, and would not see the file
                raise Failed(FILES_STAY) from None
            to_agree.append(new)
    if to_agree:
        done.append(_propose(call, to_agree))
    return "; ".join(done)


def _propose(call: ToolContext, messages: Sequence[NewMessage]) -> str:
    """Ask the person whom the run answers whether to post the text; ask once for all chats."""
    asked = call.service(Proposals).propose(
        call.activation.claim,
        messages[0].text,
        [new.chat_id for new in messages],
        client_id=call.effect,
    )
    call.activation.sent.append(asked)
    call.activation.results_wanted = True  # the model must not say that the text was posted
    return ASKED.format(place=place_of(call, asked.chat_id, asked.seq))


def _say(call: ToolContext, new: NewMessage, originals: Sequence[Original]) -> str:
    claim = call.activation.claim
    heard_by = NOBODY
    known: ChatSnapshot | None = None
    if originals:  # a file is never copied to a chat where it may not be shown
        known = call.service(OwnChats).snapshot(new.tenant, new.chat_id)
        check_post(claim.run, known.chat)
    attached = call.service(CopiedFiles).attach(new, call.reading.agent.as_member, originals)

    def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
        nonlocal heard_by
        check_post(claim.run, snapshot.chat)
        heard_by = audience_of(snapshot.chat, since_seq=snapshot.chat.last_seq + 1)
        return (claim.guard, *attached.writes(snapshot))

    posted = (
        call.service(Chats)
        .post_message(attached.new, extra_writes=extra_writes, known=known)
        .message
    )
    remember_sent(call, posted, heard_by)
    return _sent(call, posted.chat_id, posted.seq)


def _sent(call: ToolContext, chat_id: str, seq: int) -> str:
    """Return the result of a post, with the message's number and, for another chat, its title.

    If the prompt does not list the other chat, the number is left out: it would reveal to the
    readers how many messages that chat has.
    """
    if call.reading.shows(chat_id):
        return f"sent as msg:{seq}"
    title = _listed(call).get(chat_id)
    return f"sent to {title} as msg:{seq}" if title is not None else f"sent to {quoted_id(chat_id)}"


def _listed(call: ToolContext) -> dict[str, str]:
    """Return the quoted titles of the other chats in YOUR CHATS, by chat id."""
    return {chat.id: quoted(chat.display_title) for chat in others_listed(call.reading)}


def remember_sent(call: ToolContext, posted: Message, heard_by: Audience) -> None:
    """Record a message that the run has sent, because the run's later prompts show it.

    Args:
        call: The tool call.
        posted: The message.
        heard_by: The people who were present where the message was posted.
    """
    sent = SentMessage(
        chat_id=posted.chat_id,
        seq=posted.seq,
        preview=posted.text[:PREVIEW_CHARACTERS],
        audience=made_for(call).narrowed(heard_by),
    )
    call.activation.sent.append(sent)


def _ask(call: ToolContext, new: NewMessage, until: datetime | None) -> str:
    asked = call.service(Questions).ask(
        call.activation.claim,
        new,
        audience=made_for(call),
        sent=call.activation.sent,
        until=until,
    )
    call.activation.claim = asked.claim
    call.activation.over = asked.waiting
    return f"{_sent(call, new.chat_id, asked.seq)}; " + (
        "this run waits for a reply" if asked.waiting else "a reply was already there"
    )


def made_for(call: ToolContext) -> Audience:
    """Return the audience of all content that the model was shown; `NOBODY` if that is unknown."""
    held = call.activation.run.held
    return held.audience if held is not None else NOBODY


def origin_of(call: ToolContext, target: str) -> Origin | None:
    """Return the origin of a message; None if it goes to the run's own chat."""
    run, trigger = call.activation.run, call.reading.of(ShownTrigger)
    message, home = trigger.message, trigger.home
    if message is None or home is None or target == run.chat_id:
        return None
    return Origin(
        chat_id=home.id,
        chat_title=home.display_title,
        asked_by=message.sender.name,
        asker=message.sender.ref,
        text=message.text[:ORIGIN_CHARACTERS],
        audience=run.audience.narrowed(destination_of(home)),  # only they may see the current title
    )
