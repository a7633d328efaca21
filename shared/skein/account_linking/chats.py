"""Merge of users in a chat: replace the former user's membership by the known user's.

One transaction changes all data that decides who may see content: the roster, the membership, and
the audiences of summaries, of borrowed context and of queued runs. Messages do not change.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from skein.errors import ConditionFailed, Conflict
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat, chat_partition
from skein.models.chats.membership import Membership, MembershipChanges
from skein.models.chats.names import FormerName
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.base import MemberRef, NamedMember, rfc3339
from skein.models.common.storage import Absent, Is, Item, Missing, Put, Query, Update, Write, all_of
from skein.models.delivery.delivery import Delivery
from skein.ports import Table
from skein.services.chat_state.closed_memberships import closing, item_at, membership_keys, opening
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.optimistic import revise
from skein.services.runs.slots import slots_unchanged

NEWEST_DELIVERIES = 10  # enough for all that are unsettled or may still get a status report


def replace_member(
    table: Table, snapshot: ChatSnapshot, old: MemberRef, new: NamedMember, now: datetime
) -> list[Write]:
    """Return the writes that replace member `old` by `new` in a chat (optimistic lock).

    If `old` is not a member of the chat, there are no writes. The chat becomes due for upkeep,
    which sends jobs for stale summaries.

    Args:
        old: The former user.
        new: The known user, with their name.

    Raises:
        Conflict: A run of an agent is running, resuming or waiting in the chat.
        ConditionFailed: The membership of `old` has changed since the snapshot; read again.
    """
    membership = snapshot.member(old)
    if membership is None:
        return []
    for agent in snapshot.agents:
        if agent.wait:
            until = rfc3339(agent.wait.until)
            raise Conflict(
                f"a run in a chat of this number waits for a reply until {until} at the latest; "
                "try again after the reply, or stop the run",
                details={"run_id": agent.wait.run_id, "waits_until": until},
            )
        if agent.running_run or agent.resuming:
            raise Conflict("an agent is running in a chat of this number; try again in a minute")
    chat, write = _chat_with(snapshot.chat, old, new, now)
    return [
        write,
        *_left(table, membership, snapshot.chat),
        *_taken(table, membership, new, chat),
        *(_agent_with(agent, old, new) for agent in snapshot.agents),
        *_borrowed_with(table, snapshot, old, new),
        *_deliveries_with(table, snapshot.chat, old, new),
    ]


def _chat_with(chat: Chat, old: MemberRef, new: NamedMember, now: datetime) -> tuple[Chat, Update]:
    there = chat.has(new.ref)
    roster = tuple(
        new if member.ref == old else member
        for member in chat.roster
        if not (there and member.ref == old)
    )
    late = dict(chat.joined_late)
    joined = late.pop(str(old), 0)
    joined = min(joined, late.pop(str(new.ref), 0)) if there else joined
    if joined:
        late[str(new.ref)] = joined
    former = {id_: new.id if now == old.id else now for id_, now in chat.formerly.items()}
    names: tuple[FormerName, ...] = chat.with_roster(roster)["former_names"]
    changes: dict[str, Any] = {
        "roster": roster,
        "owners": chat.owners_in(roster),
        "former_names": tuple(
            name.model_copy(update={"id": new.id}) if name.ref == old else name for name in names
        ),
        "joined_late": late,
        "formerly": former | {old.id: new.id},
        "summary_state": None,
        "listed_hour": None,
    }
    for name in ("summary", "pinned"):
        summary: Summary | PinnedSummary | None = getattr(chat, name)
        if summary is not None:
            audience = summary.audience.renamed(old.id, new.id)
            changes[name] = summary.model_copy(update={"audience": audience})
    return revise(chat, changes, also=chat.upkeep(now))


def _left(table: Table, membership: Membership, chat: Chat) -> list[Write]:
    item = item_at(table, membership.key)
    if Membership.from_item(item) != membership:
        raise ConditionFailed(frozenset())
    return closing(item, {"left_seq": chat.last_seq, "route": None})


def _taken(table: Table, membership: Membership, new: NamedMember, chat: Chat) -> list[Write]:
    """Return the writes that move a membership to `new`, who may have a membership already."""
    keys = membership_keys(chat.tenant, chat.id, new.ref)
    found = table.get_many(keys)
    item = next((found[key] for key in keys if key in found), None)
    former = (*membership.formerly, membership.member.id)
    if item is None:
        taken = membership.model_copy(update={"member": new, "formerly": former})
        return [Put(taken.key, taken.to_item(chat), Missing())]
    own = Membership.from_item(item)
    taken = own.model_copy(
        update={
            "left_seq": None,
            "joined_seq": min(own.joined_seq, membership.joined_seq),
            "seen_seq": max(own.seen_seq, membership.seen_seq),
            "formerly": (*own.formerly, *former),
            "route": own.route or membership.route,
            "opt_outs": own.opt_outs | membership.opt_outs,
            "heard": membership.heard | own.heard,
            "last_delivery": membership.last_delivery or own.last_delivery,
        }
    )
    if own.active:
        unchanged = all_of(Is("chat_id", chat.id), Absent("left_seq"))
        return [Update(own.key, set=taken.to_item(chat), condition=unchanged)]
    return opening(item, chat, taken.attributes())


def _agent_with(agent: Membership, old: MemberRef, new: NamedMember) -> Write:
    """Return the write that replaces `old` by `new` in an agent's summary and queued run."""
    stored = agent.attributes()
    # Clear the state, so that a summary in progress for the former user is not stored.
    changes: MembershipChanges = {"summary_state": None}
    if agent.summary is not None:
        audience = agent.summary.audience.renamed(old.id, new.id)
        changes["summary"] = agent.summary.model_copy(update={"audience": audience})
    if agent.queued_run is not None:
        queued = agent.queued_run
        by = new.ref if queued.trigger.by == old else queued.trigger.by
        traced_to = new.id if queued.trigger.traced_to == old.id else queued.trigger.traced_to
        changes["queued_run"] = queued.model_copy(
            update={
                "trigger": queued.trigger.model_copy(update={"by": by, "traced_to": traced_to}),
                "audience": queued.audience.renamed(old.id, new.id),
            }
        )
    as_read = all_of(slots_unchanged(agent), Is("summary", stored.get("summary")))
    changed = agent.model_copy(update=changes).attributes()
    change = {name: changed.get(name) for name in changes}
    return Update(agent.key, set=change, condition=as_read)


def _borrowed_with(
    table: Table, snapshot: ChatSnapshot, old: MemberRef, new: NamedMember
) -> list[Write]:
    keys = [
        BorrowedContext.key_of(snapshot.chat.tenant, snapshot.chat.id, agent.member.id)
        for agent in snapshot.agents
    ]
    found = table.get_many(keys) if keys else {}
    return [
        Update(
            staged.key,
            set=_staged_for(staged, old, new),
            condition=Is("staging", staged.staging),
        )
        for staged in BorrowedContext.read_each(found)
    ]


def _staged_for(staged: BorrowedContext, old: MemberRef, new: NamedMember) -> Item:
    """Return the changed attributes of a borrowed context with `old` replaced by `new`."""
    messages = [
        message.model_copy(update={"sender": new.ref}) if message.sender == old else message
        for message in staged.messages
    ]
    audience = staged.audience.renamed(old.id, new.id)
    changed = staged.model_copy(update={"messages": tuple(messages), "audience": audience})
    return {name: changed.attributes()[name] for name in ("messages", "audience")}


def _deliveries_with(table: Table, chat: Chat, old: MemberRef, new: NamedMember) -> list[Write]:
    """Return the writes that move the chat's newest deliveries to the new user.

    Only deliveries to the former user move, and only those among the newest 10 of the chat. A later
    status report of such a delivery then finds the membership of the new user.
    """
    return [
        Update(
            delivery.key,
            set={"user_id": new.id, "version": delivery.version + 1},
            condition=Is("version", delivery.version),
        )
        for delivery in Delivery.each_of(_newest_deliveries(table, chat))
        if delivery.user_id == old.id
    ]


def _newest_deliveries(table: Table, chat: Chat) -> Sequence[Item]:
    page = table.query(
        Query.under(
            chat_partition(chat.tenant, chat.id),
            Delivery.PREFIX,
            limit=NEWEST_DELIVERIES,
            newest_first=True,
        )
    )
    return page.items
