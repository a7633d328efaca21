"""A worker's claim on a run, and the proof that the claim still holds."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Unpack

from skein.errors import ConditionFailed, LostLease
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import AllOf, Check, Is, Item, Key, Update, Write, all_of
from skein.models.config.overrides import Retention, TenantSettings
from skein.models.outbox.due import fence_is
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import Allowance
from skein.models.runs.run import Run, RunChanges, SentMessage
from skein.ports import Table
from skein.services.config.retention import kept_until, retention_of, run_days

MAX_SENT = 20

PrefetchedItems = Mapping[Key, Item | None]
"""Items that were read, by key; None for a missing item."""

logger = logging.getLogger(__name__)


def unchanged_run(run: Run) -> AllOf:
    """Return the condition that the run's fencing token and status are still as they were read."""
    return all_of(fence_is(run.fence), Is("status", run.status))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed run, with its chat and the agent's membership in that chat.

    `member` and `chat` are None for a run without a chat.

    Attributes:
        member: The agent's membership in the run's chat, as last read.
        chat: The run's chat, as last read.
        retention: How long the tenant keeps runs; set only for a run without a chat.
        found: The items that `also_read` of `read_claim` asked for.
        permits: The token buckets that hold the run's permits, by owner.
    """

    run: Run
    member: Membership | None
    chat: Chat | None = None
    retention: Retention | None = None
    found: PrefetchedItems = field(default_factory=dict, compare=False, repr=False)
    permits: Mapping[str, Allowance] = field(default_factory=dict, compare=False, repr=False)

    def kept_until(self, made_at: datetime) -> int | None:
        """Return when an item that the run made at `made_at` expires, in Unix seconds, or None."""
        known = self.chat.retention if self.chat is not None else self.retention
        return kept_until(made_at, run_days(known))

    @property
    def fence_holds(self) -> AllOf:
        """The condition that the run still belongs to this claim."""
        return unchanged_run(self.run)

    @property
    def guard(self) -> Check:
        """The check that makes a transaction fail if the run no longer belongs to this claim."""
        return Check(self.run.key, self.fence_holds)

    def guarded(self, _: Any) -> Sequence[Write]:
        """Return the guard, as `extra_writes` of `Chats.post_message`; the argument is not used."""
        return (self.guard,)

    @property
    def agent(self) -> MemberRef:
        return MemberRef(kind="agent", id=self.run.agent_id)

    @property
    def job(self) -> RunJob:
        """The job with which a worker continues this run."""
        return self.run.job

    def with_run(self, **changes: Unpack[RunChanges]) -> "Claim":
        """Return the claim with changed attributes of its run."""
        return replace(self, run=self.run.model_copy(update=changes))


def read_claim(table: Table, job: RunJob, *, also_read: Sequence[Key] = ()) -> Claim | None:
    """Read the run of a job, with its chat and the agent's membership in the chat.

    All items are read in one batch. For a run without a chat, the tenant's settings are read
    instead of the chat, because they contain the retention. If the agent has left the chat, a
    second read finds its closed membership. If the run, the chat or the membership is missing, a
    warning is logged and the result is None.

    Args:
        job: The job that names the run.
        also_read: Keys of further items to read in the same batch; these items may be missing.

    Raises:
        ValueError: The job does not name a run.
    """
    home = Run.home_of(job.run_id)
    agent = MemberRef(kind="agent", id=job.agent_id)
    keys: list[Key] = [Run.key_of(job.tenant, job.run_id)]
    if home.startswith("chat_"):
        keys += [Membership.key_of(job.tenant, home, agent), Chat.key_of(job.tenant, home)]
    settings = TenantSettings.key_of(job.tenant)
    wanted = [*keys, *also_read] if len(keys) > 1 else [*keys, settings, *also_read]
    found = table.get_many(list(dict.fromkeys(wanted)))
    if len(keys) > 1 and keys[1] not in found and keys[0] in found:
        left = table.get(Membership.left_key_of(job.tenant, home, agent))
        found |= {keys[1]: left} if left is not None else {}
    if any(key not in found for key in keys):
        logger.warning(
            "run of a job not found", extra={"run_id": job.run_id, "reason": Reason.RUN_MISSING}
        )
        return None
    run = Run.must_read(found, keys[0])
    known = {key: found.get(key) for key in also_read}
    if len(keys) == 1:
        tenant_settings = TenantSettings.from_optional(found.get(settings))
        return Claim(run, None, retention=retention_of(tenant_settings), found=known)
    member, chat = Membership.must_read(found, keys[1]), Chat.must_read(found, keys[2])
    return Claim(run, member, chat, found=known)


def write_claimed(
    table: Table,
    claim: Claim,
    changes: Mapping[str, Any],
    *,
    own: Sequence[Write] = (),
    shared: Sequence[Write] = (),
) -> None:
    """Write a claimed run, and further items in the same transaction.

    Args:
        claim: The claim; the write is conditional on its fencing token.
        changes: The new values of attributes of the run's item. None removes an attribute.
        own: Writes of items that only the run's worker writes.
        shared: Writes of items that other writers change, too (optimistic lock).

    Raises:
        LostLease: Another worker has taken the run over.
        ConditionFailed: Another writer changed an item of `shared`.
    """
    own_writes: list[Write] = [
        Update(claim.run.key, set=changes, condition=claim.fence_holds),
        *own,
    ]
    try:
        if own or shared:
            table.transact([*own_writes, *shared])
        else:
            table.write(own_writes[0])
    except ConditionFailed as failure:
        if any(position < len(own_writes) for position in failure.failed):
            raise LostLease(claim.run.id) from failure
        raise


def membership_in(table: Table, found: Claim, chat_id: str | None) -> Membership | None:
    """Return the agent's current membership in a chat; None without a chat or a membership."""
    if chat_id is None:
        return None
    membership = Membership.read(table, Membership.key_of(found.run.tenant, chat_id, found.agent))
    return membership if membership is not None and membership.active else None


def membership_elsewhere(
    table: Table, claim: Claim, chat_id: str
) -> tuple[Chat | None, Membership | None]:
    """Return a chat and the agent's current membership in it; both None if either is missing."""
    chat_key = Chat.key_of(claim.run.tenant, chat_id)
    member_key = Membership.key_of(claim.run.tenant, chat_id, claim.agent)
    found = table.get_many([chat_key, member_key])
    if chat_key not in found or member_key not in found:
        return None, None
    member = Membership.must_read(found, member_key)
    return (Chat.must_read(found, chat_key), member) if member.active else (None, None)


def shown_membership(table: Table, found: Claim) -> Membership | None:
    """Return the agent's membership in the chat that a queued run's prompt will show.

    For a run that is not queued, the result is the membership in the run's own chat. The result is
    None if the run does not answer the messages of the chat that it will show, but leaves them to
    other runs (`Run.leaves_messages`). Such a run does not wait for the chat's debounce, and does
    not merge the chat's queued run.
    """
    run, member = found.run, found.member
    chat_id = run.active_chat_id or run.own_chat_id
    if run.status != "queued" or (member is not None and member.chat_id == chat_id):
        return member
    if chat_id is not None and run.leaves_messages(chat_id):
        return None
    return membership_in(table, found, chat_id)


def stored_of(claim: Claim, *names: str) -> dict[str, Any]:
    """Return attributes of a claim's run in stored form, by name; None for a missing attribute."""
    stored = claim.run.attributes()
    return {name: stored.get(name) for name in names}


def with_results(claim: Claim, tools: Sequence[str], sent: Sequence[SentMessage]) -> Claim:
    """Return the claim with tools and sent messages added to its run.

    The run keeps the newest 20 sent messages.
    """
    used = dict.fromkeys([*claim.run.tools, *tools])
    known = dict.fromkeys([*claim.run.sent, *sent])
    return claim.with_run(tools=tuple(used), sent=tuple(known)[-MAX_SENT:])
