"""The list of the provider's models in memory, for tests."""

from dataclasses import dataclass

from skein.errors import SkeinError


@dataclass
class MemoryModelList:
    """A list of models that a test can change, also to a failure.

    Attributes:
        listed: The names of the models.
        error: The error that the next calls raise; None for no error.
        calls: How many times the list was read.
    """

    listed: frozenset[str] = frozenset()
    error: SkeinError | None = None
    calls: int = 0

    def models(self, *, seconds: float) -> frozenset[str]:
        """Return the names of the models (see `skein.ports.ModelList`)."""
        if seconds <= 0:
            raise ValueError("the time-out must be positive")
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self.listed
