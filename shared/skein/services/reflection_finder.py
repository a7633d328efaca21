"""Every day: finds the agents some of whose journal entries are about to fade.

Its cost depends on the entries that are due, not on how many agents or memories there are.
"""

from datetime import datetime, timedelta

from skein.models.jobs import ReflectionJob
from skein.ports import Clock, Metrics, Table
from skein.services.dispatch import Dispatch
from skein.services.finding import Finder


class ReflectionFinder:
    """Sends a job for each partition of an agent in which something fades."""

    def __init__(self, *, table: Table, clock: Clock, dispatch: Dispatch, metrics: Metrics) -> None:
        self._dispatch = dispatch
        self._finder = Finder(
            table=table, clock=clock, metrics=metrics, kind="fading", later=_next_day
        )

    def run(self, *, until: datetime) -> int:
        """Send the jobs for what is due, until there is no more or `until` has come.

        Returns:
            How many jobs were sent.
        """
        sent: set[ReflectionJob] = set()
        for items in self._finder.find(until=until):
            due = {
                ReflectionJob(
                    tenant=item["tenant"], agent_id=item["agent_id"], scope=item.get("scope")
                )
                for item in items
            }
            self._dispatch.send(sorted(due - sent, key=str))
            sent |= due
        return len(sent)


def _next_day(now: datetime) -> datetime:
    """A little less than a day on, so that tomorrow's finder, be it early, finds it again."""
    return now + timedelta(hours=23)
