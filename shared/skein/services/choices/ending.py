"""End all open choices of a person at once, without answers."""

from skein.models.chats.chat import Message
from skein.models.common.storage import Delete, Write, at_version
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import expired, read_choices
from skein.services.chats.invitations import end_invitation, invitations_of
from skein.services.common.optimistic import optimistic


def end_choices(table: Table, clock: Clock, tenant: str, user_id: str) -> None:
    """End the open choices of a user who was merged into another user (idempotent).

    First, the user's invitations are removed from the chats. Then one transaction expires the
    questions and deletes the user's `PersonChoices`.
    """
    for chat, _ in invitations_of(table, tenant, user_id):
        end_invitation(table, clock, tenant, chat.id, user_id)
    optimistic(clock, lambda: _end_once(table, clock, tenant, user_id), finds_own_write=True)


def _end_once(table: Table, clock: Clock, tenant: str, user_id: str) -> None:
    now = clock.now()
    choices = read_choices(table, tenant, user_id, now)
    if not choices.version:
        return
    keys = [Message.key_of(tenant, one.chat_id, seq) for one in choices.open for seq in one.seqs]
    found = table.get_many(keys) if keys else {}
    writes: list[Write] = [Delete(choices.key, at_version(choices.version))]
    writes += [write for message in Message.read_each(found) for write in expired(message, now)]
    table.transact(writes)
