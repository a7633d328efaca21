"""Composition of the summary worker."""

from skein.bootstrap.ports import Ports
from skein.services.summaries.agent_summary import AgentSummaries
from skein.services.summaries.chat_summary import ChatSummaries
from skein.services.summaries.chat_title import ChatTitles
from skein.services.summaries.renewal import SummaryTasks


def build_summary_tasks(ports: Ports) -> SummaryTasks:
    """Build the tasks that renew summaries and titles."""
    table, clock, settings = ports.table, ports.clock, ports.settings
    return SummaryTasks(
        agent_summaries=AgentSummaries(table=table, clock=clock, settings=settings),
        chat_summaries=ChatSummaries(table=table, clock=clock, settings=settings),
        chat_titles=ChatTitles(table=table, clock=clock, settings=settings),
    )
