"""What a tenant's agents have used on a day."""

from datetime import date

from skein.models.base import Value


class DayUsage(Value):
    """The answers of models on one day (UTC), and their tokens; see `TokenUsage`."""

    day: date
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
