"""A run that a worker has made its own, and the proof that it still is."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from skein.models.base import MemberRef
from skein.models.chat import Chat, Membership
from skein.models.jobs import RunJob
from skein.models.overrides import Retention, TenantSettings
from skein.models.run import Run, SentMessage
from skein.models.storage import AllOf, Check, Is, Item, Key, Write, all_of
from skein.ports import Table
from skein.services.config.retention import kept_until, retention_of, run_days

MAX_SENT = 20

Known = Mapping[Key, Item | None]
"""What was read under some keys; None where nothing is."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """A run and, if it belongs to a chat, the chat and the agent's place in it, as last known.

    Attributes:
        retention: Of a run without a chat, how long its tenant keeps runs.
        found: What was read together with it, as it was then.
    """

    run: Run
    member: Membership | None
    chat: Chat | None = None
    retention: Retention | None = None
    found: Known = field(default_factory=dict, compare=False, repr=False)

    def kept_until(self, made_at: datetime) -> int | None:
        """When something of the run goes that is made then; None for never."""
        known = self.chat.retention if self.chat is not None else self.retention
        return kept_until(made_at, run_days(known))

    @property
    def mine(self) -> AllOf:
        """Holds while nobody has taken the run over."""
        return all_of(Is("fence", self.run.fence), Is("status", self.run.status))

    @property
    def guard(self) -> Check:
        """Lets any transaction fail once somebody has taken the run over."""
        return Check(self.run.key, self.mine)

    def guarded(self, _: Any) -> Sequence[Write]:
        """The guard, as what rides along with a message."""
        return (self.guard,)

    @property
    def agent(self) -> MemberRef:
        """The agent at work."""
        return MemberRef(kind="agent", id=self.run.agent_id)

    @property
    def job(self) -> RunJob:
        """The job that brings a worker to this run."""
        return self.run.job

    def with_run(self, **changes: Any) -> "Claim":
        """The claim after some attributes of its run have been written."""
        return replace(self, run=self.run.model_copy(update=changes))


def read_claim(table: Table, job: RunJob, *, beside: Sequence[Key] = ()) -> Claim | None:
    """Read, in one call, a job's run and, if it belongs to a chat, the agent's place and the chat.

    None when one of them is missing, which is worth a line in the log.

    Args:
        table: Where.
        job: Which run.
        beside: What else is to be read with them, if it is there.

    Raises:
        ValueError: The job names no run.
    """
    home = Run.home_of(job.run_id)
    agent = MemberRef(kind="agent", id=job.agent_id)
    keys = [Run.key_of(job.tenant, job.run_id)]
    if home.startswith("chat_"):
        keys += [Membership.key_of(job.tenant, home, agent), Chat.key_of(job.tenant, home)]
    settings = TenantSettings.key_of(job.tenant)
    wanted = [*keys, *beside] if len(keys) > 1 else [*keys, settings, *beside]
    found = table.get_many(list(dict.fromkeys(wanted)))
    if len(keys) > 1 and keys[1] not in found and keys[0] in found:
        left = table.get(Membership.left_key_of(job.tenant, home, agent))
        found |= {keys[1]: left} if left is not None else {}
    if any(key not in found for key in keys):
        logger.warning("a job names no run", extra={"run_id": job.run_id})
        return None
    run, *place = (found[key] for key in keys)
    known = {key: found.get(key) for key in beside}
    if not place:
        said = TenantSettings.found_in(found.get(settings))
        return Claim(Run.from_item(run), None, retention=retention_of(said), found=known)
    member, chat = place
    return Claim(
        Run.from_item(run), Membership.from_item(member), Chat.from_item(chat), found=known
    )


def place_in(table: Table, found: Claim, chat_id: str | None) -> Membership | None:
    """The agent's open membership in a chat, which may be the run's own."""
    if chat_id is None:
        return None
    item = table.get(Membership.key_of(found.run.tenant, chat_id, found.agent))
    place = Membership.from_item(item) if item else None
    return place if place is not None and place.active else None


def place_elsewhere(
    table: Table, claim: Claim, chat_id: str
) -> tuple[Chat | None, Membership | None]:
    """A chat and the agent's open place there, where it is not the run's own."""
    chat_key = Chat.key_of(claim.run.tenant, chat_id)
    member_key = Membership.key_of(claim.run.tenant, chat_id, claim.agent)
    found = table.get_many([chat_key, member_key])
    if chat_key not in found or member_key not in found:
        return None, None
    member = Membership.from_item(found[member_key])
    return (Chat.from_item(found[chat_key]), member) if member.active else (None, None)


def shown_place(table: Table, found: Claim) -> Membership | None:
    """The agent's place in the chat that a queued run will be shown once it begins or goes on."""
    run, member = found.run, found.member
    chat_id = run.active_chat_id or run.chat_id
    if run.status != "queued" or (member is not None and member.chat_id == chat_id):
        return member
    return place_in(table, found, chat_id)


def stored_of(claim: Claim, *names: str) -> dict[str, Any]:
    """Some attributes of a claim's run as its item holds them; None for what it does not hold."""
    stored = claim.run.attributes()
    return {name: stored.get(name) for name in names}


def with_results(claim: Claim, tools: Sequence[str], sent: Sequence[SentMessage]) -> Claim:
    """The claim whose run remembers, besides, these tools and the newest messages that it sent."""
    used = dict.fromkeys([*claim.run.tools, *tools])
    known = dict.fromkeys([*claim.run.sent, *sent])
    return claim.with_run(tools=tuple(used), sent=tuple(known)[-MAX_SENT:])


def why_pointless(found: Claim) -> str | None:
    """Why a run is not to be worked at any more, if so."""
    if found.member is not None and not found.member.active:
        return "the agent has left the chat"
    if found.chat is not None and found.chat.discarded_at and found.run.status == "queued":
        return "the chat was discarded"
    return None


def is_its_turn(run: Run, member: Membership) -> bool:
    """Whether a run may work: no other is at it, and those that have waited go first."""
    if member.running_run is not None:
        return member.running_run == run.id
    return not member.resuming or run.id in member.resuming
