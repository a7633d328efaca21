"""What agents own: the services that keep it."""

from functools import cached_property

from skein.bootstrap.outside import Outside
from skein.services.goals import Goals
from skein.services.memories import Memories
from skein.services.plans import Plans


class OwnedThings(Outside):
    """Goals, plans and memories."""

    @cached_property
    def goals(self) -> Goals:
        """What agents are after."""
        return Goals(table=self.table, clock=self.clock, ids=self.ids)

    @cached_property
    def plans(self) -> Plans:
        """What will wake agents."""
        return Plans(table=self.table, clock=self.clock)

    @cached_property
    def memories(self) -> Memories:
        """What agents have learnt."""
        return Memories(table=self.table, clock=self.clock, ids=self.ids)
