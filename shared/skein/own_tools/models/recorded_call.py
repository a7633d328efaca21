"""The record of a call of a tool that writes, and the rule that makes the call happen only once.

The record is created before the call is sent, and changed when the outcome is known:

    no record, `asked`          -> `begun`   before the call is sent
    `begun`                     -> `begun`   before it is sent again to an idempotent service
    `begun`                     -> `asked`   the service asks a person first
    `begun`                     -> `failed`  the call certainly had no effect
    `begun`                     -> `unknown` the call may have had its effect
    `begun`, `unknown`          -> `done`    even if the worker has lost its run meanwhile

If a worker dies during a call, the record remains `begun`, and the call's outcome is unknown.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.common.storage import Condition, Is, Key, SortKeyPrefix, any_of
from skein.models.runs.run import Run
from skein.models.runs.step import Step, ToolResult, ToolStatus
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import NO_AUTHORS

CallState = Literal["asked", "begun", "done", "failed", "unknown"]

STATE_AFTER: Mapping[ToolStatus, CallState] = {
    "done": "done",
    "asked": "asked",
    "unknown": "unknown",
    "correctable": "failed",  # the service refused the call
    "failed": "failed",
}


def may_begin(state: CallState | None, *, idempotent: bool, answered: bool) -> bool:
    """Return whether a call may be sent.

    Args:
        state: The state of its record; None if there is no record.
        idempotent: Whether the service carries out a repeated call only once.
        answered: Whether a person has answered the question of the service.
    """
    if state is None:
        return True
    if state == "begun":
        return idempotent
    return state == "asked" and answered


def may_become(state: CallState) -> Condition:
    """Return the condition that a record must meet before `state` is recorded as the outcome."""
    begun = Is("state", "begun")
    return any_of(begun, Is("state", "unknown")) if state == "done" else begun


class CallRef(Value):
    """The place of a model's call: the run, the step, and the position in the step."""

    run_id: Identifier
    step: int
    position: int

    def __str__(self) -> str:
        """Return the idempotency key of the call."""
        return f"{self.run_id}:{self.step}:{self.position}"


class RecordedCall(Stored):
    """The record of a call of a tool that writes, with its state.

    The arguments and the result are on the step that made the call.

    Attributes:
        call: The place where the model first made the call.
        agent_id: The agent.
        seq: The newest message that the run answered, or 0.
        from_seq: The first message that the run answered, or 0.
        activation: The activation of the run that made the call.
        digest: The digest of the tool's name and the arguments, by which equal calls are found.
        made_in: The place of the call in the step that carried it out. For a call that was approved
            later, this is a step of another run.
        audience: The people who were present for all content that the activation was shown.
        authors: The people and tools whose words the activation was shown.
        begun_at: When the call was last sent.
        expires_at: When the record and its run expire, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("CALL#")

    tenant: Tenant
    call: CallRef
    agent_id: Identifier
    seq: int
    from_seq: int
    activation: int
    tool: str
    digest: str
    state: CallState = "begun"
    made_in: CallRef
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    begun_at: Instant
    expires_at: int | None = None

    @staticmethod
    def key_of(tenant: str, call: CallRef, seq: int) -> "Key[RecordedCall]":
        """Return the key of the record of a call that a run made to answer message `seq`."""
        sk = f"{RecordedCall.prefix_of(seq, call.run_id)}{call.step:03d}#{call.position:03d}"
        return Key(Run.key_of(tenant, call.run_id).pk, sk)

    @staticmethod
    def prefix_of(seq: int, run_id: str | None = None) -> SortKeyPrefix:
        """Return the key prefix of the calls made to answer a message, by all runs or by one."""
        run = f"{key_part(run_id)}#" if run_id is not None else ""
        return SortKeyPrefix(f"{RecordedCall.PREFIX}{seq:012d}#{run}")

    @property
    def key(self) -> "Key[RecordedCall]":
        return self.key_of(self.tenant, self.call, self.seq)

    @property
    def ambiguous(self) -> bool:
        """Whether an attempt at the call has an unknown outcome."""
        return self.state in {"begun", "unknown"}

    @property
    def step_key(self) -> Key:
        """The key of the step that has the arguments and the result."""
        return Step.key_of(self.tenant, self.made_in.run_id, self.made_in.step)

    def result_in(self, step: Step | None) -> ToolResult | None:
        """Return the result of the call, or None if there is no result or it was erased."""
        position = self.made_in.position
        if step is None:
            return None
        if step.results is not None and position < len(step.results):
            return step.results[position]
        return next((each.result for each in step.begun if each.position == position), None)

    def arguments_in(self, step: Step | None) -> str | None:
        """Return the arguments of the call as JSON, or None if they were erased."""
        return step.arguments_at(self.made_in.position) if step is not None else None


def digest_of_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the digest of a call. The order of the arguments does not change the digest."""
    text = json.dumps([tool, arguments], sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
