"""Select the task that renews the summary of a job."""

from dataclasses import dataclass

from skein.models.outbox.jobs import SummaryJob
from skein.summaries.agent_summary import AgentSummaries
from skein.summaries.chat_summary import ChatSummaries
from skein.summaries.chat_title import ChatTitles
from skein.summaries.summary_task import SummaryTask


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTasks:
    """The tasks that renew agent summaries, chat summaries and titles."""

    agent_summaries: AgentSummaries
    chat_summaries: ChatSummaries
    chat_titles: ChatTitles

    def of(self, job: SummaryJob) -> SummaryTask:
        """Return the task for a job: a title, an agent summary or a chat summary."""
        if job.title:
            return self.chat_titles
        return self.chat_summaries if job.agent_id is None else self.agent_summaries
