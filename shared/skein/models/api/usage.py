"""Resources of the HTTP API: usage of models."""

from datetime import date
from typing import Self

from skein.models.api.base import Resource
from skein.models.quotas.usage import DayUsage


class UsageResource(Resource):
    """The number of model answers and tokens of one day (UTC)."""

    day: date
    answers: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int

    @classmethod
    def of(cls, usage: DayUsage) -> Self:
        """Build the resource of a day's usage."""
        return cls.model_validate(usage, from_attributes=True)
