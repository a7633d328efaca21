"""The gate of an agent: whether a change needs a trial in which no required case regressed."""

from dataclasses import dataclass

from skein.models.directory.agent import Agent
from skein.ports import Table


@dataclass(slots=True)
class OpenedGate:
    """The gate for one request, which checks each change of an agent before the change is stored.

    Attributes:
        trial_id: The trial that the request names, if any.
        overridden: Whether an owner has given a reason why the change needs no trial.
        warning: What is missing, if the gate warns and does not block.
    """

    table: Table
    trial_id: str | None
    overridden: bool
    warning: str | None = None

    def check(self, before: Agent, after: Agent) -> None:
        """Check whether the gate lets a change of an agent pass.

        Raises:
            Conflict: The gate blocks the change; `details.reason` is `trial_required` or
                `trial_stale`.
        """
        self.warning = None
        if before.gate == "off" or self.overridden:
            return
        from skein.trials.tried import refusal  # noqa: PLC0415 - few agents have a gate

        why = refusal(self.table, before, after, self.trial_id)
        if why is not None and before.gate == "block":
            raise why
        self.warning = str(why) if why is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGate:
    """The service that creates the gate for each request."""

    table: Table

    def open(self, trial_id: str | None, override_reason: str | None) -> OpenedGate:
        """Return the gate for a request."""
        return OpenedGate(self.table, trial_id, override_reason is not None)
