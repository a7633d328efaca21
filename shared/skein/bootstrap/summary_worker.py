"""Composition of the summary worker."""

from skein.bootstrap.ports import Ports
from skein.services.quotas.usage import Budget, UsageCounters
from skein.services.summaries.agent_summary import AgentSummaries
from skein.services.summaries.chat_summary import ChatSummaries
from skein.services.summaries.chat_title import ChatTitles
from skein.services.summaries.model import Summarizer
from skein.services.summaries.renewal import SummaryRenewal


def build_summary_renewal(ports: Ports) -> SummaryRenewal:
    """Build the service that renews agent summaries and chat summaries."""
    table, clock, metrics, settings = ports.table, ports.clock, ports.metrics, ports.settings
    summarizer = Summarizer(
        model=ports.model,
        usage=UsageCounters(table=table, clock=clock, metrics=metrics),
        budget=Budget(table=table, clock=clock, metrics=metrics, settings=settings),
        metrics=metrics,
        settings=settings,
    )
    return SummaryRenewal(
        agent_summaries=AgentSummaries(
            table=table, clock=clock, summarizer=summarizer, settings=settings
        ),
        chat_summaries=ChatSummaries(
            table=table, clock=clock, summarizer=summarizer, settings=settings
        ),
        chat_titles=ChatTitles(table=table, clock=clock, summarizer=summarizer, settings=settings),
    )
