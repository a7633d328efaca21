"""Notify the waiting person when a run fails, as part of the run's lease."""

from dataclasses import dataclass

from skein.services.replies.user_notices import FailureNotices
from skein.services.runs.claim import Claim
from skein.services.runs.lease import RunLeases


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticedLeases(RunLeases):
    """Leases that post a notice before a run ends as failed."""

    failure_notices: FailureNotices

    def before_failure(self, claim: Claim) -> None:
        self.failure_notices.failed(claim)
