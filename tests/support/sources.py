"""Sources of knowledge in a world: create them, and have them read."""

from datetime import timedelta
from typing import Any

from skein.knowledge.api import NewSource
from skein.knowledge.models.source import Source
from skein.knowledge.reading import SourceReader
from skein.knowledge.records import Sources
from tests.support.builders import TENANT, World
from tests.support.template import running

HOURS = "# Hours\n\nWe open at nine and close at noon. On Sundays, we are closed."
MANUAL = "\n\n".join(
    f"# Part {number}\n\nThe bolt of part {number} takes {number + 3} turns of the wrench. " * 6
    for number in range(40)
)


def read_source(world: World, text: str, **given: Any) -> Source:
    """Create a source and read it at once, without its job."""
    sources = world.app.get(Sources)
    with running("AdminApi"):
        source = sources.create(TENANT, NewSource(**{"name": "Vault", "text": text} | given))
    with running("UpkeepWorker"):
        deadline = world.clock.now() + timedelta(minutes=5)
        world.app.get(SourceReader).take(source.job, deadline=deadline)
    return sources.get(TENANT, source.id)


def with_source(world: World, text: str | None = HOURS, **given: Any) -> Source:
    """Create a source, and read it in the background."""
    new = NewSource(**{"name": "Opening hours", "text": text} | given)
    with running("AdminApi"):
        source = world.app.get(Sources).create(TENANT, new)
    world.drain()
    return world.app.get(Sources).get(TENANT, source.id)
