"""Write to the people of an outreach, once each.

The item of each person is due when the person's turn comes. One transaction posts the text, or
starts the run that writes it, and sets the state of the person. Each person is therefore written to
once, even if workers overlap or die half-way. The transaction also checks that the outreach is
active. If the transaction starts a run, each message that the run posts also requires an active
outreach.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.channels.registry import channel_named
from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed, NotActive, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.contact_order import ContactOrder
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Key, Missing, Put, Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import OutreachJob
from skein.models.quotas.limit import DAY, MINUTE, Allowance, Rate, owner_of_line
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.outreach.models.outreach import CHAT_NAME, SEGMENTS_EACH, Outreach, OutreachPerson
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_chat
from skein.services.chats.first_contact import Contact, FirstContact, NotNow
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.background_runs import agent_run
from skein.services.visibility.audience import audience_of, scope_of
from skein.settings import Settings

HELD_FOR = timedelta(minutes=5)  # between two checks of a paused outreach, or of a chat on the desk
MAX_QUEUE_WAIT = timedelta(seconds=30)  # of a line; an outreach waits while the queue is longer
CHUNK = 99

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutreachSender:
    """The service that writes to the people of an outreach; each job does one step."""

    table: Table
    clock: Clock
    chats: Chats
    contacts: FirstContact
    dispatch: Dispatch
    settings: Settings

    def take(self, job: OutreachJob) -> None:
        """Create an item for each person of an outreach, or write to one of them (idempotent)."""
        if job.user_id is None:
            optimistic(self.clock, lambda: self._spread(job), finds_own_write=True)
            return
        user_id = job.user_id
        optimistic(self.clock, lambda: self._look(job, user_id), finds_own_write=True)

    def _spread(self, job: OutreachJob) -> None:
        """Create an item for each person; the item is due at the person's turn."""
        outreach = Outreach.read(self.table, Outreach.key_of(job.tenant, job.outreach_id))
        if outreach is None or outreach.user_ids is None:
            return
        known = {
            outreach_person.user_id
            for outreach_person in OutreachPerson.each_of(
                items_under(self.table, outreach.key.pk, OutreachPerson.PREFIX)
            )
        }
        first = max(outreach.not_before or outreach.created_at, outreach.created_at)
        missing: list[Write] = []
        for position, user_id in enumerate(outreach.user_ids):
            if user_id in known:
                continue
            delay = position * outreach.seconds
            person = OutreachPerson(
                tenant=outreach.tenant,
                outreach_id=outreach.id,
                user_id=user_id,
                delay=delay,
                next_at=first + timedelta(seconds=delay),
                expires_at=outreach.expires_at,
            )
            missing.append(Put(person.key, person.to_item(), Missing()))
        for start in range(0, len(missing), CHUNK):
            self.table.transact(missing[start : start + CHUNK])
        done = {"user_ids": None, "version": outreach.version + 1, **NOT_DUE}
        as_read = Is("version", outreach.version)
        self.table.write(Update(outreach.key, set=done, condition=as_read))

    def _look(self, job: OutreachJob, user_id: str) -> None:
        """Write to a person whose turn has come, or decide not to."""
        keys: list[Key] = [
            Outreach.key_of(job.tenant, job.outreach_id),
            OutreachPerson.key_of(job.tenant, job.outreach_id, user_id),
        ]
        found = self.table.get_many(keys)
        if any(key not in found for key in keys):
            return
        outreach, person = (
            Outreach.must_read(found, keys[0]),
            OutreachPerson.must_read(found, keys[1]),
        )
        now = self.clock.now()
        if person.state != "waiting" or person.next_at is None or person.next_at > now:
            return
        if outreach.status == "canceled":
            self.table.write(person.decided("canceled", now))
        elif outreach.not_after is not None and now > outreach.not_after:
            self.table.write(person.decided("expired", now))
        elif outreach.status == "paused":
            self.table.write(person.later(now + HELD_FOR, Reason.PAUSED))
        else:
            self._reach(outreach, person, now)

    def _reach(self, outreach: Outreach, person: OutreachPerson, now: datetime) -> None:
        try:
            self._write_to(outreach, person, now)
        except NotNow as wait:
            why = Reason(wait.reason) if wait.reason else Reason.LINE_BUSY
            # People whose quiet hours end at the same time also take turns.
            turn = timedelta(seconds=person.delay if why == Reason.QUIET_HOURS else 0)
            self._log("person of an outreach comes later", person, why)
            self.table.write(person.later(wait.until + turn, why))
        except (NotFound, Conflict) as refusal:
            why = Reason(refusal.reason) if refusal.reason else Reason.PERSON_LEFT
            self._log("person of an outreach not written to", person, why)
            self.table.write(person.decided("refused", now, reason=why))

    def _write_to(self, outreach: Outreach, person: OutreachPerson, now: datetime) -> None:
        """Post the text, or start the run that writes it.

        Raises:
            ConditionFailed: Another worker was faster, or the outreach is no longer active.
            NotFound: The person or the agent is gone.
            Conflict: Writing to the person is not allowed.
            NotNow: Writing to the person is not allowed now.
        """
        contact = self.contacts.open(
            outreach.tenant, outreach.agent_id, person.user_id, asker=outreach.asker
        )
        busy_until = self._busy_until(contact, now)
        if busy_until is not None:
            raise NotNow(Reason.LINE_BUSY, busy_until)
        chat = self._marked(outreach, contact, now)
        if chat.held:
            raise NotNow(Reason.DESK, now + HELD_FOR)
        if outreach.text is not None:
            self._post(outreach, outreach.text, person, contact, now)
        else:
            self._start(outreach, person, contact, chat, now)

    def _post(
        self,
        outreach: Outreach,
        text: str,
        person: OutreachPerson,
        contact: Contact,
        now: datetime,
    ) -> None:
        """Post the given text, in the transaction that sets the person's state.

        Raises:
            ConditionFailed: Another worker was faster, or the outreach is no longer active.
            NotNow: A limit is used up, or a person of the team holds the chat.
        """
        new = NewMessage(
            tenant=outreach.tenant,
            chat_id=contact.chat_id,
            sender=contact.agent.ref,
            text=text,
            client_id=outreach.id,
            template=outreach.template,
            while_active=outreach.while_active,
        )
        try:
            self.chats.post_message(
                new,
                extra_writes=lambda snapshot: (
                    person.decided(
                        "written", now, chat_id=contact.chat_id, seq=snapshot.chat.last_seq + 1
                    ),
                    *self.contacts.charges(contact),
                ),
            )
        except (ExtraWriteFailed, NotActive):
            raise ConditionFailed(frozenset()) from None
        except NotNow:
            raise
        except Conflict as refusal:
            if refusal.reason != Reason.DESK:
                raise
            raise NotNow(Reason.DESK, now + HELD_FOR) from None

    def _start(
        self,
        outreach: Outreach,
        person: OutreachPerson,
        contact: Contact,
        chat: Chat,
        now: datetime,
    ) -> None:
        """Start the run that writes, in the transaction that sets the person's state.

        Raises:
            ConditionFailed: Another worker was faster, or the outreach is no longer active.
            NotNow: A limit is used up.
        """
        audience = audience_of(chat, since_seq=chat.last_seq + 1)
        plan = PlanTrigger(
            id=outreach.id,
            name=CHAT_NAME,
            instruction=outreach.instruction or "",
            scheduled_at=person.next_at or now,
            chat_id=chat.id,
            by_operator=True,
            template=outreach.template,
        )
        started = agent_run(
            tenant=outreach.tenant,
            agent_id=outreach.agent_id,
            trigger=Trigger(type="plan", plan=plan),
            cause=("outreach", outreach.id, person.user_id),
            now=now,
            audience=audience,
            scope=scope_of(chat),
            chat=chat,
            started_by=outreach.while_active,
        )
        written = person.decided("written", now, chat_id=chat.id, run_id=started.run.id)
        charges = self.contacts.charges(contact)
        active = outreach.while_active.still_active
        self.table.transact([*started.writes, written, active, *charges])
        self.dispatch.send([started.job])

    def _marked(self, outreach: Outreach, contact: Contact, now: datetime) -> Chat:
        """Store the outreach in the chat, so that its prompts show it, and return the chat.

        If a worker dies after this write, the outreach stays in the chat, and the next worker
        writes the message.
        """
        chat = read_chat(self.table, contact.tenant, contact.chat_id)
        if chat.contact_order is not None and chat.contact_order.id == outreach.id:
            return chat
        record = ContactOrder(
            id=outreach.id,
            instruction=outreach.instruction,
            text=outreach.text,
            asker=outreach.asker,
            at=now,
        )
        marked = chat.model_copy(update={"contact_order": record, "version": chat.version + 1})
        stored = marked.attributes()
        change = {name: stored[name] for name in ("outreach", "version")}
        self.table.write(Update(chat.key, set=change, condition=Is("version", chat.version)))
        return marked

    def _busy_until(self, contact: Contact, now: datetime) -> datetime | None:
        """Return when the line may send again; None if it may send now.

        A line must wait if its queue is long or its segments of the day are used.
        """
        line, channel = contact.route.line.address, channel_named(contact.route.channel)
        owner = owner_of_line(channel.name, line)
        keys = [Allowance.key_of(contact.tenant, owner), TenantSettings.key_of(contact.tenant)]
        found = self.table.get_many(keys)
        settings = self.settings.overridden(TenantSettings.from_optional(found.get(keys[1])))
        allowance = Allowance.from_optional(found.get(keys[0]), contact.tenant, owner)
        pace = Rate(channel.pace(line, settings), MINUTE)
        day = Rate(settings.line_segments_per_day, DAY)
        queue = pace.waiting(allowance.sending_full_at, 1, now)
        used_up = day.waiting(allowance.segments_full_at, SEGMENTS_EACH, now)
        wait = max(queue if queue > MAX_QUEUE_WAIT else timedelta(0), used_up)
        return now + wait if wait else None

    @staticmethod
    def _log(event: str, person: OutreachPerson, reason: Reason) -> None:
        extra = {"outreach_id": person.outreach_id, "user_id": person.user_id, "reason": reason}
        logger.info(event, extra=extra)
