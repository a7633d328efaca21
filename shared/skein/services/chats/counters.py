"""Count a message in its chat, and schedule the upkeep and consolidation that follow."""

from datetime import datetime
from typing import Any, NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.desk import DeskState
from skein.models.common.storage import Is, Update, Write
from skein.models.outbox.jobs import Job, SummaryJob, UpkeepJob
from skein.ports import Ids
from skein.services.chat_state.history_window import pinned
from skein.services.chat_state.sessions import session_with
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.consolidation_schedule import (
    due_change,
    due_time,
    idle_at,
    is_new_text,
    makes_due,
    makes_due_again,
)
from skein.services.chats.staleness import renewals
from skein.services.config.resolution import effective_in
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.services.visibility.talk import sharing_with
from skein.settings import Settings

SUMMARIES = ("summary", "summary_state", "pinned")


class CounterWrites(NamedTuple):
    """The writes that count a message, and the jobs that follow the commit."""

    writes: tuple[Write, ...]
    jobs: tuple[Job, ...]


def counted(
    snapshot: ChatSnapshot,
    message: Message,
    now: datetime,
    *,
    ids: Ids,
    settings: Settings,
    desk: DeskState | None = None,
) -> CounterWrites:
    """Count a message in its chat, and schedule upkeep and consolidation.

    - Upkeep: a message can set the due pointer or move it to an earlier time. Only upkeep itself
      removes the due pointer.
    - Chat summary: the summary is pinned if the message moves the start of the history window and
      the summary covers the messages before the new start. A reset removes the chat's summaries.
    - Consolidation: the first message after a consolidation schedules the next one. If failures
      have postponed a consolidation, a later message moves it to an earlier time.

    Messages of a person who has opted out of SMS schedule neither summaries nor a consolidation.

    Args:
        snapshot: The chat as it was read; if a person posts in a direct chat, with the current
            settings (`with_current_overrides`).
        message: The message, with its seq.
        desk: The stay on the desk that the message begins, if any.

    Returns:
        The writes and the jobs. The writes fail if the chat's version has changed since it was
        read.
    """
    chat = snapshot.chat
    busier, change = _with(chat, message, desk, ids=ids, settings=settings)
    hour = message.created_at.replace(minute=0, second=0, microsecond=0)
    after_grace = now + OUTBOX_GRACE
    times = [chat.upkeep_at] if chat.upkeep_at else []
    jobs: list[Job] = []
    if hour > chat.activity_hour:
        times.append(after_grace)
        jobs.append(UpkeepJob(tenant=chat.tenant, chat_id=chat.id))
    if message.kind in {"text", "team"}:
        stale = list(renewals(snapshot._replace(chat=busier), settings))
        times += (max(renewal.at, after_grace) for renewal in stale)
        ready = [renewal.job for renewal in stale if renewal.at <= now]
        own = [job for job in ready if job.agent_id == message.sender.id]
        jobs += own
        if len(ready) > len(own):
            expected = _expected(snapshot, settings)
            jobs += (job for job in ready if job not in {*own, *expected})
    if times and min(times) != chat.upkeep_at:
        change |= chat.upkeep(min(times))
    further_writes: list[Write] = []
    again = makes_due_again(snapshot._replace(chat=busier), message, settings)
    if (again or makes_due(busier, message, settings)) and not snapshot.opted_out:
        at = due_time(busier, idle_at(busier, settings))
        if chat.consolidation_at is None or at < chat.consolidation_at:
            due = due_change(chat, at)
            change |= due.change
            further_writes.append(due.write)
    write = Update(chat.key, set=change, condition=Is("version", chat.version))
    return CounterWrites((write, *further_writes), tuple(jobs))


def _expected(snapshot: ChatSnapshot, settings: Settings) -> set[SummaryJob]:
    """Return the summary jobs that a message does not need to send.

    Some jobs were sent by the previous message. Others will be sent by an agent's answer, because
    no agent summary is made while a run of the agent is in progress. Upkeep finds all other stale
    summaries. Without this set, each answer in a chat of 20 agents would send 20 jobs.
    """
    chat = snapshot.chat
    last = chat.last_message_at
    if last is None:
        return set()
    busy = (agent.member.id for agent in snapshot.agents if agent.busy)
    return {
        *(renewal.job for renewal in renewals(snapshot, settings) if renewal.at <= last),
        *(SummaryJob(tenant=chat.tenant, chat_id=chat.id, agent_id=each) for each in busy),
    }


def _with(
    chat: Chat,
    message: Message,
    desk: DeskState | None,
    *,
    ids: Ids,
    settings: Settings,
) -> tuple[Chat, dict[str, Any]]:
    hour = message.created_at.replace(minute=0, second=0, microsecond=0)
    busier = chat.model_copy(
        update={
            "last_seq": message.seq,
            "last_message": message.preview(),
            "version": chat.version + 1,
            "activity_hour": max(hour, chat.activity_hour),
            "session": session_with(chat, message, effective_in(chat, settings), ids),
        }
    )
    names = ["last_seq", "last_message", "version", "activity_hour"]
    if chat.kind == "direct":
        names += ["session", "overrides", "retention"]
        if is_new_text(chat, message):
            busier = busier.model_copy(update={"person_seq": message.seq})
            names.append("person_seq")
    if message.kind == "team" and chat.desk is not None:
        desk = chat.desk.model_copy(
            update={
                "answered_at": chat.desk.answered_at or message.created_at,
                "spoke_at": message.created_at,
                "spoke_seq": message.seq,
            }
        )
    if desk is not None:
        busier = busier.model_copy(update={"desk": desk})
        names.append("desk")
    told = chat.sharing is not None or message.noticed_rules
    sharing = sharing_with(chat, message, settings) if told else None
    if sharing != chat.sharing:
        busier = busier.model_copy(update={"sharing": sharing})
        names.append("sharing")
    if message.resets:
        # A worker that is writing a summary now loses its claim, so its summary is dropped, too.
        without_title = chat.without_made_title()
        busier = busier.model_copy(update=without_title).model_copy(
            update={"summary": None, "summary_state": None, "pinned": None}
        )
        names += [*SUMMARIES, *without_title]
    pin = pinned(busier, busier.summary, settings)
    if pin is not None and pin != busier.pinned:
        busier = busier.model_copy(update={"pinned": pin})
        names.append("pinned")
    stored = busier.attributes()
    return busier, {name: stored.get(name) for name in names}
