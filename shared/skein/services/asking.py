"""Sending a message and waiting for the answer, in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from skein.errors import Conflict
from skein.models.chat import Membership, Message, chat_partition
from skein.models.jobs import RunJob
from skein.models.run import MAX_WAITS, PREVIEW_CHARACTERS, SentMessage
from skein.models.storage import Update, Write
from skein.models.trigger import Resume, Wait
from skein.ports import Clock, Table
from skein.services.chats import Chats, NewMessage
from skein.services.claims import Claim
from skein.services.dispatch import Dispatch
from skein.services.endings import Endings, behind, freed
from skein.services.roster import Room
from skein.services.slots import absorbed, slots_unchanged
from skein.settings import Settings


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a question.

    Attributes:
        claim: As it is now; no longer this worker's own while the run waits.
        seq: The number of the message that asked.
        waiting: False when an answer that the agent had not seen was there already.
    """

    claim: Claim
    seq: int
    waiting: bool


class Asking:
    """Lets runs ask and wait."""

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        chats: Chats,
        endings: Endings,
        dispatch: Dispatch,
        settings: Settings,
    ) -> None:
        self._table = table
        self._clock = clock
        self._chats = chats
        self._endings = endings
        self._dispatch = dispatch
        self._settings = settings

    def ask(
        self,
        claim: Claim,
        new: NewMessage,
        *,
        sent: Sequence[SentMessage],
        check: Callable[[Room], None],
    ) -> Asked:
        """Post `new` and let the run wait for a reply, all or nothing.

        The slot in the run's own chat is freed meanwhile. A message of somebody else that the
        prompt did not show counts as the reply: then the run goes on at once, as a new activation.

        Args:
            claim: The run's.
            new: The message.
            sent: What else this step has sent, to be remembered with it.
            check: Looks at the chat before anything is posted, and may refuse.

        Raises:
            Conflict: The run has waited often enough, or another run waits in this chat.
            RiderFailed: Another worker has taken the run over.
            Rejected: As `post_message`.
        """
        if claim.run.waits >= MAX_WAITS:
            raise Conflict(f"a run waits at most {MAX_WAITS} times")
        self._endings.mark_seen(claim)
        asked = Asked(claim, 0, waiting=True)
        jobs: list[RunJob] = []

        def riders(room: Room) -> Sequence[Write]:
            nonlocal asked
            check(room)
            jobs.clear()
            asked, writes, following = self._riders(claim, new, room, sent)
            jobs.extend(following)
            return writes

        posted = self._chats.post_message(new, riders=riders)
        if not posted.created and not asked.seq:
            # An earlier attempt got this far and died; its run waits, or went on, without us.
            return replace(asked, seq=posted.message.seq)
        self._dispatch.send(jobs)
        if asked.waiting:
            self._dispatch.send([claim.job], delay_seconds=self._settings.wait_seconds)
        return asked

    def _riders(
        self, claim: Claim, new: NewMessage, room: Room, sent: Sequence[SentMessage]
    ) -> tuple[Asked, list[Write], list[RunJob]]:
        member = room.member(claim.agent)
        if member is None:
            raise ValueError("the sender was in the chat a moment ago")
        if member.wait is not None:
            raise Conflict("another run of yours waits in this chat already")
        seq = room.chat.last_seq + 1
        said = SentMessage(chat_id=room.chat.id, seq=seq, preview=new.text[:PREVIEW_CHARACTERS])
        told = tuple(dict.fromkeys([*claim.run.sent, *sent, said]))
        used = tuple(dict.fromkeys([*claim.run.tools, "send_message"]))
        changes: dict[str, Any] = {
            "sent": told,
            "tools": used,
            "waits": claim.run.waits + 1,
            "active_chat_id": room.chat.id,
        }
        reply = self._unseen(claim, room)
        if reply is None:
            return self._waiting(claim, member, seq, changes)
        return self._answered(claim, member, reply, seq, changes)

    def _unseen(self, claim: Claim, room: Room) -> Message | None:
        """The newest message of somebody else that this activation's prompt did not hold."""
        shown = claim.run.shown
        if shown is None or shown.chat_id != room.chat.id or shown.seq >= room.chat.last_seq:
            return None
        page = self._table.query(
            chat_partition(room.chat.tenant, room.chat.id),
            first=Message.key_of(room.chat.tenant, room.chat.id, shown.seq + 1).sk,
            last="MSG#~",
        )
        unseen = (Message.from_item(item) for item in reversed(page.items))
        return next((m for m in unseen if m.kind == "text" and m.sender.ref != claim.agent), None)

    def _waiting(
        self, claim: Claim, member: Membership, seq: int, changes: dict[str, Any]
    ) -> tuple[Asked, list[Write], list[RunJob]]:
        until = self._clock.now() + timedelta(seconds=self._settings.wait_seconds)
        wait = Wait(run_id=claim.run.id, seq=seq, until=until)
        changes |= {
            "status": "waiting",
            "wait": wait,
            "wait_chat_id": member.chat_id,
            "lease_until": None,
            "attempts": 0,
        }
        now_waiting = claim.with_run(**changes)
        grace = timedelta(seconds=self._settings.outbox_grace_seconds)
        here = {"wait": wait.model_dump(mode="json")}
        home = claim.member
        writes: list[Write] = [
            Update(
                claim.run.key,
                set=_stored(now_waiting, changes) | claim.run.due(until + grace),
                condition=claim.mine,
            )
        ]
        if home is None or home.key != member.key:
            writes.append(Update(member.key, set=here, condition=slots_unchanged(member)))
            home = self._fresh(home)
        else:
            home = member
        if home is None:
            return Asked(now_waiting, seq, waiting=True), writes, []
        left = freed(claim.run, home)
        own = dict(left.set) | (here if home.key == member.key else {})
        writes.append(replace(left, set=own))
        return Asked(now_waiting, seq, waiting=True), writes, behind(claim.run, home)

    def _answered(
        self,
        claim: Claim,
        member: Membership,
        reply: Message,
        seq: int,
        changes: dict[str, Any],
    ) -> tuple[Asked, list[Write], list[RunJob]]:
        """The answer is there: go on at once, and answer what a queued run was to answer, too."""
        run = claim.run
        resume = Resume(status="reply", chat_id=member.chat_id, asked_seq=seq, seq=reply.seq)
        changes |= {"resumed": resume, "activation": run.activation + 1}
        if reply.sender.kind == "agent":
            changes["chain_depth"] = max(run.chain_depth, reply.depth)
        writes: list[Write] = []
        queued = member.queued_run
        if queued is not None and not queued.resumes and run.chat_id == member.chat_id:
            changes["then"] = tuple(sorted({*run.then, *queued.then}))
            without = Update(
                member.key, set={"queued_run": None}, condition=slots_unchanged(member)
            )
            now = self._clock.now()
            writes = [without, absorbed(member, queued.run_id, into=run.id, now=now)]
            member = member.model_copy(update={"queued_run": None})
        goes_on = claim.with_run(**changes)
        if run.chat_id == member.chat_id:
            goes_on = replace(goes_on, member=member)
        first = Update(run.key, set=_stored(goes_on, changes), condition=claim.mine)
        return Asked(goes_on, seq, waiting=False), [first, *writes], []

    def _fresh(self, home: Membership | None) -> Membership | None:
        item = self._table.get(home.key) if home else None
        return Membership.from_item(item) if item else None


def _stored(claim: Claim, changes: dict[str, Any]) -> dict[str, Any]:
    stored = claim.run.attributes()
    return {name: stored.get(name) for name in changes}
