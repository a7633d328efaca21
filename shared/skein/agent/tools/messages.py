"""Speaking: `send_message`, in the active chat or in another one."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from skein.agent.tools.base import Call, tool
from skein.errors import (
    Conflict,
    Correctable,
    Failed,
    LostLease,
    NotFound,
    RiderFailed,
    Unprocessable,
)
from skein.models.audience import Origin
from skein.models.run import PREVIEW_CHARACTERS, Run, SentMessage
from skein.models.storage import Write
from skein.services.chats import NewMessage
from skein.services.roster import Room

ORIGIN_CHARACTERS = 200


@tool
def send_message(
    call: Call,
    text: Annotated[str, Field(description="What to say, word for word.", min_length=1)],
    reply_to: Annotated[
        int | None, Field(description="The number of the message that this answers: 43 for msg:43.")
    ] = None,
    wait: Annotated[
        bool | None, Field(description="Pause this run until somebody answers or 5 minutes pass.")
    ] = None,
    chat_id: Annotated[
        str | None, Field(description="Another chat to send to; without it, the active chat.")
    ] = None,
) -> str:
    """Say something in a chat; the only way to reach anyone there."""
    run = call.work.run
    target = chat_id or run.active_chat_id
    if target is None:
        raise Correctable("no chat is active: name a chat_id, or enter a chat first")
    new = NewMessage(
        tenant=run.tenant,
        chat_id=target,
        sender=call.work.claim.agent,
        text=text,
        client_id=call.effect,
        reply_to=reply_to,
        depth=run.chain_depth + 1,
        run_id=run.id,
        expects_reply=bool(wait),
        origin=_origin(call, target),
    )
    try:
        return _ask(call, new) if wait else _say(call, new)
    except RiderFailed as error:
        raise LostLease(run.id) from error
    except NotFound:
        raise Failed("you are in no chat with this id") from None
    except Conflict as error:
        raise Failed(str(error)) from None
    except Unprocessable as error:
        raise Correctable(str(error)) from None


def _say(call: Call, new: NewMessage) -> str:
    claim = call.work.claim

    def riders(room: Room) -> Sequence[Write]:
        check_reach(claim.run, room)
        return (claim.guard,)

    posted = call.desk.chats.post_message(new, riders=riders).message
    call.work.sent.append(
        SentMessage(
            chat_id=posted.chat_id, seq=posted.seq, preview=posted.text[:PREVIEW_CHARACTERS]
        )
    )
    return f"sent as msg:{posted.seq}"


def _ask(call: Call, new: NewMessage) -> str:
    asked = call.desk.asking.ask(
        call.work.claim,
        new,
        sent=call.work.sent,
        check=lambda room: check_reach(call.work.run, room),
    )
    call.work.claim = asked.claim
    call.work.over = asked.waiting
    return f"sent as msg:{asked.seq}; " + (
        "this run waits for a reply" if asked.waiting else "a reply was already there"
    )


def check_reach(run: Run, room: Room) -> None:
    """Refuse to carry what was said in private to where its people are not (DESIGN 5.8).

    Raises:
        Failed: The run was triggered in a private chat, and whoever triggered it is not in `room`.
    """
    if run.audience.open or room.chat.id == run.chat_id:
        return
    by = run.trigger.by
    if run.trigger.type in {"chat_message", "manual"}:
        needed = [by.id] if by is not None and by.kind == "user" else None
    else:
        needed = list(run.audience.people) or None
    people = {member.id for member in room.chat.roster if member.kind == "user"}
    if needed is None or not set(needed) <= people:
        raise Failed("this run began in a private chat, and who began it is not in that chat")


def _origin(call: Call, target: str) -> Origin | None:
    """Why something is said in another chat than the one in which it was asked for."""
    run, reading = call.work.run, call.reading
    message, home = reading.trigger_message, reading.home
    if message is None or home is None or target == run.chat_id:
        return None
    return Origin(
        chat_id=home.id,
        chat_title=home.title or "New Conversation",
        asked_by=message.sender.name,
        text=message.text[:ORIGIN_CHARACTERS],
        audience=run.audience,
    )
