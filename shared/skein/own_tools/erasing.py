"""Erase a person from the tool calls that wait, or waited, for an operator's decision."""

from collections.abc import Collection, Iterator

from skein.models.common.storage import Delete, Write
from skein.own_tools.models.approval import ToolApproval, approvals_partition
from skein.ports import Table
from skein.services.common.optimistic import revise
from skein.services.common.pagination import items_under


def approvals_erased(
    table: Table, tenant: str, user_id: str, ids: Collection[str]
) -> Iterator[Write]:
    """Yield the writes that delete the requests for approval of a person's calls.

    Requests for other people's calls stay, but the person is removed from their readers.

    Args:
        ids: All ids of the person.
    """
    del user_id  # calls are listed by tenant
    items = items_under(table, approvals_partition(tenant), ToolApproval.PREFIX)
    for approval in ToolApproval.each_of(items):
        call = approval.call
        if call.person in ids:
            yield Delete(approval.key)
        elif call.readers.counts(ids):
            left = call.model_copy(update={"readers": call.readers.without(ids)})
            yield revise(approval, {"call": left})[1]
