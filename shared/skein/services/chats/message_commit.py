"""Build the commit of a message: its writes, jobs and deliveries, and the runs that it wakes."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from skein.models.chats.chat import Message
from skein.models.common.reason import Reason
from skein.models.common.storage import Update, Write
from skein.models.outbox.jobs import Job
from skein.models.runs.trigger import Trigger
from skein.ports import Ids, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.delivery.enqueue import QueuedDelivery
from skein.services.runs.debounce import burst_with, debounce_in, media_with
from skein.services.runs.slots import enqueue, slots_unchanged
from skein.services.runs.waits import resumed_by
from skein.services.runs.wakeups import paced, woken_by
from skein.services.visibility.audience import audience_of
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Commit:
    """The transaction that stores a message, and the jobs to send after the transaction.

    Attributes:
        delayed_jobs: Jobs to send with the debounce delay.
        jobs: Jobs to send without delay.
        runs: The ids of the runs that the message queues, extends or resumes, by agent id.
        reasons: Why the message starts no run of an agent, by agent id.
        undelivered: The reasons why people get no SMS with the message.
        delivery_ids: The ids of the message's deliveries.
    """

    writes: list[Write] = field(default_factory=list)
    delayed_jobs: list[Job] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    undelivered: tuple[Reason, ...] = ()
    delivery_ids: list[str] = field(default_factory=list)

    def deliver(self, texts: Iterable[QueuedDelivery]) -> None:
        """Add deliveries of the message to phones."""
        for text in texts:
            self.delivery_ids.append(text.delivery_id)
            self.writes.extend(text.writes)
            self.jobs.append(text.job)

    def outcome(self, message: Message, reason: Reason | None) -> Message:
        """Return the message with its runs and deliveries, and the reasons why any are missing.

        Args:
            reason: The usual reason why an agent gets no run. The message stores this reason once,
                and any other reason for each agent.
        """
        others = {agent: why for agent, why in self.reasons.items() if why != reason}
        return message.model_copy(
            update={
                "runs": self.runs,
                "reason": reason if len(others) < len(self.reasons) else None,
                "reasons": others,
                "deliveries": tuple(self.delivery_ids),
                "undelivered": self.undelivered,
            }
        )

    def log(self, message: Message, origin: Mapping[str, str]) -> None:
        """Log a message with its runs and deliveries, and each reason for a missing run or SMS.

        Args:
            origin: The log fields that identify the sender.
        """
        membership = {"chat_id": message.chat_id, "seq": message.seq}
        logger.info(
            "message posted",
            extra={
                **membership,
                **origin,
                "run_ids": list(self.runs.values()),
                "delivery_ids": self.delivery_ids,
            },
        )
        for reason in dict.fromkeys(self.reasons.values()):
            agents = [agent for agent, why in self.reasons.items() if why == reason]
            logger.info(
                "message started no run",
                extra={**membership, "agent_ids": agents, "reason": reason},
            )
        for reason in self.undelivered:
            logger.info("message not sent as an SMS", extra={**membership, "reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRuns:
    """The service that queues and resumes runs for messages."""

    table: Table
    ids: Ids
    settings: Settings

    def wake(
        self,
        commit: Commit,
        snapshot: ChatSnapshot,
        message: Message,
        now: datetime,
        nobody: Reason | None,
        *,
        texted: bool,
    ) -> None:
        """Queue a run for each agent that the message wakes, and resume waiting runs.

        Args:
            commit: The method adds the writes and the runs to this commit, and the reasons for
                agents without a run.
            nobody: Why the message triggers no agent at all (`why_nobody`); None if the message may
                trigger agents.
            texted: Whether the message is an SMS.
        """
        trigger = Trigger(
            type="chat_message",
            seq=message.seq,
            from_seq=message.seq,
            by=message.sender.ref,
            traced_to=message.traced_to,
        )
        audience = audience_of(snapshot.chat, since_seq=message.seq)
        debounce = debounce_in(snapshot.chat, self.settings) if texted else None
        limit = self.settings.max_chain_depth
        woken = woken_by(message, snapshot.chat, snapshot.agents, max_chain_depth=limit)
        others = [agent for agent in snapshot.agents if agent.member.ref != message.sender.ref]
        for agent in [*woken, *(agent for agent in others if agent not in woken)]:
            wakes = agent in woken
            pace = paced(agent, message, woken=wakes, now=now)
            answering = {
                **pace.changes,
                **burst_with(agent, debounce, now),
                **media_with(agent, message, now),
            }
            wait = agent.wait if not snapshot.chat.held else None
            if wait is not None and wait.ended_by(message.reply_to, now):
                resumed = resumed_by(
                    self.table,
                    agent,
                    message,
                    changes=answering,
                    now=now,
                    settings=self.settings,
                )
                commit.runs[agent.member.id] = wait.run_id
                commit.writes.extend(resumed.writes)
                commit.delayed_jobs.extend([resumed.job] if resumed.job else [])
            elif wakes and pace.allowed:
                enqueued = enqueue(
                    agent,
                    trigger,
                    depth=message.depth,
                    audience=audience,
                    changes=answering,
                    ids=self.ids,
                    now=now,
                    settings=self.settings,
                )
                commit.runs[agent.member.id] = enqueued.run_id
                commit.writes.extend(enqueued.writes)
                commit.delayed_jobs.extend([enqueued.job] if enqueued.job else [])
            else:
                why = Reason.AGENT_PAUSED if wakes else nobody or Reason.NOT_MENTIONED
                commit.reasons[agent.member.id] = why
                if pace.changes:
                    unchanged = slots_unchanged(agent)
                    commit.writes.append(Update(agent.key, set=pace.changes, condition=unchanged))
