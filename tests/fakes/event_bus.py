"""An event bus in memory."""

from dataclasses import dataclass, field
from datetime import datetime

from skein.errors import SkeinError


@dataclass
class MemoryBus:
    """An event bus (see `skein.ports.EventBus`).

    Attributes:
        events: The type and the JSON of each event, in order.
        errors: The errors that the next events raise, in turn.
    """

    events: list[tuple[str, str]] = field(default_factory=list)
    errors: list[SkeinError] = field(default_factory=list)

    def put(self, event_type: str, event: str, at: datetime) -> None:
        """See `skein.ports.EventBus`."""
        if self.errors:
            raise self.errors.pop(0)
        self.events.append((event_type, event))
