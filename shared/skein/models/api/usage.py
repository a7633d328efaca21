"""How the API shows what a tenant's agents have used."""

from datetime import date
from typing import Self

from skein.models.api.base import Resource
from skein.models.quotas.usage import DayUsage


class UsageResource(Resource):
    """The answers of models on one day (UTC), and their tokens."""

    day: date
    answers: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int

    @classmethod
    def of(cls, usage: DayUsage) -> Self:
        """As it is shown."""
        return cls.model_validate(usage, from_attributes=True)
