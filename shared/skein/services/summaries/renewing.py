"""Renews whichever summary a job names."""

from skein.models.base import MemberRef
from skein.models.jobs import SummaryJob
from skein.services.summaries.agent_summary import Notes
from skein.services.summaries.chat_summary import Records


class Renewing:
    """An agent's note if the job names an agent, else the chat's shared summary."""

    def __init__(self, *, notes: Notes, records: Records) -> None:
        self._notes = notes
        self._records = records

    def renew(self, job: SummaryJob) -> None:
        """Renew a summary, if it is behind and its cooldown is over."""
        if job.agent_id is None:
            self._records.renew(job)
        else:
            self._notes.renew(job, MemberRef(kind="agent", id=job.agent_id))
