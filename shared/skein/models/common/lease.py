"""Leases: claims on work that end by themselves when their worker dies."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from skein.models.common.base import Instant, Value


class Lease(Value):
    """A claim of one worker on some work, which ends unless the worker renews it.

    A lease must be longer than the longest call that its worker makes between two renewals.

    Attributes:
        fence: The fencing token: each claim on the same work has a higher one.
        until: When the lease ends.
    """

    fence: Annotated[int, Field(ge=1)]
    until: Instant

    def held(self, now: datetime) -> bool:
        """Tell whether the lease has not ended."""
        return now < self.until
