"""Resources of the HTTP API: pauses."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.config.pauses import Pauses


class PauseTimes(Resource):
    """Since when each kind of work is paused. Null means that the work is not paused."""

    runs: Annotated[Instant | None, Field(description="The runs of agents.")] = None
    texts: Annotated[Instant | None, Field(description="SMS to people.")] = None
    background: Annotated[Instant | None, Field(description="Summaries and memories.")] = None

    @classmethod
    def of(cls, pauses: Pauses) -> Self:
        """Build the resource of the pauses of a tenant or the stack."""
        return cls.model_validate(
            {name: at for name, at in pauses.since.items() if name in cls.model_fields}
        )


class PausesResource(Resource):
    """The pauses of the tenant and of the whole stack. Either one holds work back."""

    tenant: Annotated[PauseTimes, Field(description="Pauses of the tenant.")]
    stack: Annotated[PauseTimes, Field(description="Pauses of the whole stack.")]
