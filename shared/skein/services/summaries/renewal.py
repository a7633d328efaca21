"""Renewal of the summary that a job names."""

from dataclasses import dataclass

from skein.models.common.base import MemberRef
from skein.models.outbox.jobs import SummaryJob
from skein.services.summaries.agent_summary import AgentSummaries
from skein.services.summaries.chat_summary import ChatSummaries
from skein.services.summaries.chat_title import ChatTitles


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRenewal:
    """Worker that renews an agent summary or, if no agent is named, the chat summary or title."""

    agent_summaries: AgentSummaries
    chat_summaries: ChatSummaries
    chat_titles: ChatTitles

    def renew(self, job: SummaryJob) -> None:
        """Renew a summary, if it is stale and its cooldown is over."""
        if job.title:
            self.chat_titles.make(job)
        elif job.agent_id is None:
            self.chat_summaries.renew(job)
        else:
            self.agent_summaries.renew(job, MemberRef(kind="agent", id=job.agent_id))
