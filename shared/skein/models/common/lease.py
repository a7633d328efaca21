"""Leases: claims on work that end by themselves when their worker dies."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from skein.models.common.base import Instant, Stored, Value
from skein.models.common.storage import Condition, Is


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


class LeasedItem(Stored):
    """An item on which one worker at a time works.

    Attributes:
        fence: The fencing token: each claim raises it, and writes of an older claim fail.
        busy_until: The end of the lease of the worker that has claimed the item.
    """

    fence: Annotated[int, Field(exclude_if=lambda fence: not fence)] = 0
    busy_until: Instant | None = None

    def busy(self, now: datetime) -> bool:
        """Tell whether a worker has claimed the item and its lease has not ended."""
        return self.busy_until is not None and self.busy_until > now

    def claimed(self, until: datetime) -> Self:
        """Return the item with a claim until the lease ends; the write needs `as_claimed`."""
        return self.model_copy(update={"fence": self.fence + 1, "busy_until": until})

    @property
    def as_claimed(self) -> Condition:
        """The condition that nobody has claimed the item since it was read."""
        return fence_is(self.fence or None)


def fence_is(fence: int | None) -> Is:
    """Return the condition that no worker has claimed an item since it was read.

    Args:
        fence: The fencing token as it was read; None if the item has none.
    """
    return Is("fence", fence)
