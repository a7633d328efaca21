"""Find out whether a call already waits for approval, so that its approval is requested only once.

People and operators are asked by different services, which both use this check.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.models.runs.requested_call import RequestedCall
from skein.models.runs.step import Step
from skein.models.visibility.audience import may_show
from skein.own_tools.ledger import digest_of
from skein.ports import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCalls:
    """The service that compares a call with the calls that wait for approval."""

    table: Table

    def has_equal(self, tenant: str, new: RequestedCall, waiting: Iterable[RequestedCall]) -> bool:
        """Return whether a waiting call has the same tool and arguments as a new call.

        Calls for two different people are not equal. A waiting call is ignored if it can no longer
        be made because its tool was changed, its arguments were erased, or a person has joined who
        may not be shown the result.

        Args:
            new: The new call, whose step is stored.
            waiting: The waiting calls of the same agent in the same chat.
        """
        similar = [each for each in waiting if _similar(each, new)]
        return bool(similar) and self.digest(tenant, new) in {
            digest for each in similar if (digest := self.digest(tenant, each)) is not None
        }

    def digest(self, tenant: str, call: RequestedCall) -> str | None:
        """Return the digest of a call, or None if its arguments were erased."""
        step = Step.read(self.table, Step.key_of(tenant, call.run_id, call.step))
        arguments = step.arguments_at(call.position) if step is not None else None
        return digest_of(call.tool, arguments) if arguments is not None else None


def _similar(waiting: RequestedCall, new: RequestedCall) -> bool:
    """Return whether two calls are equal in everything but their arguments."""
    people = {waiting.person, new.person} - {None}
    same_tool = (waiting.tool, waiting.version) == (new.tool, new.version)
    return same_tool and len(people) <= 1 and may_show(waiting.readers, new.readers)
