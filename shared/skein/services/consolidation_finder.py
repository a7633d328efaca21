"""Every hour: finds the chats that may be quiet enough for what was said in them to be remembered.

Its cost depends on the chats that are due, not on how many there are.
"""

from datetime import datetime

from skein.models.consolidation import Consolidation
from skein.models.jobs import ConsolidationJob
from skein.ports import Clock, Metrics, Table
from skein.services.dispatch import Dispatch
from skein.services.finding import Finder
from skein.services.quiet import next_hour


class ConsolidationFinder:
    """Sends a job for each chat that is due; the worker looks whether it is quiet."""

    def __init__(self, *, table: Table, clock: Clock, dispatch: Dispatch, metrics: Metrics) -> None:
        self._dispatch = dispatch
        self._finder = Finder(
            table=table, clock=clock, metrics=metrics, kind="consolidation", later=next_hour
        )

    def run(self, *, until: datetime) -> int:
        """Send one job for each chat that is due, until there is no more or `until` has come.

        Returns:
            How many jobs were sent.
        """
        sent = 0
        for items in self._finder.find(until=until):
            chats = [Consolidation.from_item(item) for item in items]
            jobs = [ConsolidationJob(tenant=chat.tenant, chat_id=chat.chat_id) for chat in chats]
            self._dispatch.send(jobs)
            sent += len(jobs)
        return sent
