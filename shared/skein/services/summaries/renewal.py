"""Renewal of the summary that a job names."""

from dataclasses import dataclass

from skein.models.common.base import MemberRef
from skein.models.outbox.jobs import SummaryJob
from skein.services.summaries.agent_summary import AgentSummaries
from skein.services.summaries.chat_summary import ChatSummaries


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRenewal:
    """Worker that renews an agent summary, or the chat summary if no agent is named."""

    agent_summaries: AgentSummaries
    chat_summaries: ChatSummaries

    def renew(self, job: SummaryJob) -> None:
        """Renew a summary, if it is stale and its cooldown is over."""
        if job.agent_id is None:
            self.chat_summaries.renew(job)
        else:
            self.agent_summaries.renew(job, MemberRef(kind="agent", id=job.agent_id))
