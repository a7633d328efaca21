"""End the wait of a run early: another run names the reply, or the person stops the waiting run."""

from dataclasses import dataclass

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.runs.run import RUN_ID, Run
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic, transact_guarded
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.claim import Claim
from skein.services.runs.completion import RunCompletion
from skein.services.runs.waits import ResumedRun, resumed_by
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingWaits:
    """The service that ends waits early."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    completion: RunCompletion
    settings: Settings

    def reply(self, claim: Claim, chat_id: str, seq: int) -> None:
        """Resume the agent's run that waits in a chat, with the given message as the reply.

        Args:
            claim: The run that names the message; another run of the same agent.
            chat_id: The chat in which the other run waits.
            seq: The seq of the reply, a message that another member wrote after the question.

        Raises:
            NotFound: No other run of the agent waits in that chat, or the message is not a reply.
            LostLease: Another worker has taken over the run of `claim`.
        """
        tenant = claim.run.tenant

        def once() -> ResumedRun:
            keys = (
                Membership.key_of(tenant, chat_id, claim.agent),
                Message.key_of(tenant, chat_id, seq),
            )
            found = self.table.get_many(list(keys))
            member = Membership.read(found, keys[0])
            message = Message.read(found, keys[1])
            wait = member.wait if member is not None else None
            if member is None or wait is None or wait.run_id == claim.run.id:
                raise NotFound("no other run of this agent is waiting in this chat")
            is_reply = message is not None and message.kind == "text" and seq > wait.seq
            if message is None or not is_reply or message.sender.ref == claim.agent:
                raise NotFound("give a message that someone else wrote after the question")
            now = self.clock.now()
            resumed = resumed_by(
                self.table, member, message, changes={}, now=now, settings=self.settings
            )
            transact_guarded(self.table, resumed.writes, claim.guard)
            return resumed

        job = optimistic(self.clock, once).job
        self.dispatch.send([job] if job is not None else [])

    def stop(self, tenant: str, chat_id: str, user_id: str, run_id: str) -> None:
        """Cancel a run that waits for a reply, on behalf of the person who started it (idempotent).

        Args:
            chat_id: The chat to which the run belongs.
            user_id: The person, who must have started the run.

        Raises:
            NotFound: The person has started no such run in that chat, or is not a member of it.
            Conflict: The run is queued or running.
        """
        read_snapshot(self.table, tenant, chat_id).for_member(MemberRef(kind="user", id=user_id))
        run = Run.read(self.table, Run.key_of(tenant, run_id)) if RUN_ID.fullmatch(run_id) else None
        if run is None or run.chat_id != chat_id or run.trigger.user_id != user_id:
            raise NotFound("run not found: you have no such run in this chat")
        if run.ended:
            return
        if run.status != "waiting":
            raise Conflict("the run does not wait for a reply")
        why = "stopped by the person who asked"
        self.completion.cancel(run, reason=Reason.STOPPED_BY_ASKER, error=why)
