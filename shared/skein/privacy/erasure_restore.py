"""Repeat the erasures of the register on a table restored from a backup, and check the result.

A restore brings back people and messages that were erased after the backup. Each entry of the
register restarts its erasure under the old id, so applying the register twice is harmless. Only the
content of the table decides whether an erasure is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from skein.errors import NotFound
from skein.models.chats.chat import Message
from skein.models.chats.membership import member_relation, past_relation
from skein.models.common.base import MemberRef
from skein.models.common.storage import Delete, Is, Missing, Put, Write, any_of
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import Merge, User
from skein.ports import Clock, Table
from skein.privacy.erasure_sweep import ERASED
from skein.privacy.message_deletion import commit_deletion
from skein.privacy.models.erasure import Erasure, Subject
from skein.privacy.models.registered_erasure import RegisteredErasure
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import pages_of_relation

Applied = Literal["at_work", "done", "nothing_to_erase", "another_person"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredErasures:
    """Service that applies the erasure register to a restored table."""

    table: Table
    clock: Clock

    def apply(self, entry: RegisteredErasure) -> Applied:
        """Restart the erasure of a register entry if the table needs it (idempotent).

        Returns:
            `at_work`: The erasure is in progress; the erasure worker carries it out. `done`: The
            table has the report of the erasure, or the message without its words.
            `nothing_to_erase`: The table does not have the message. `another_person`: The person's
            record was created after the erasure. The id now belongs to another person, or the
            person has come back.

        Raises:
            Contention: All 20 attempts were overtaken by other writers.
        """
        attempt = self._apply_to_person if entry.message is None else self._apply_to_message
        return optimistic(self.clock, lambda: attempt(entry), finds_own_write=True)

    def remains(self, entry: RegisteredErasure) -> list[str]:
        """Return what the table still has of an erased person or message; empty if nothing is left.

        Returns:
            For a person, the keys of records, merges and memberships. For a message, its chat and
            `seq`.
        """
        if entry.message is not None:
            message = self._message(entry)
            gone = message is None or message.kind in {"deleted", "erased"}
            return [] if gone else [f"message {entry.message.chat_id}/{entry.message.seq}"]
        return list(self._remains_of_person(entry))

    def _remains_of_person(self, entry: RegisteredErasure) -> Iterator[str]:
        for user_id in entry.user_ids:
            keys = [User.key_of(entry.tenant, user_id), Merge.key_of(entry.tenant, user_id)]
            yield from (f"{key.pk} {key.sk}" for key in self.table.get_many(keys))
            ref = MemberRef(kind="user", id=user_id)
            for relation in (
                member_relation(entry.tenant, ref),
                past_relation(entry.tenant, user_id),
            ):
                for rows in pages_of_relation(self.table, relation):
                    yield from (f"{row['pk']} {row['sk']}" for row in rows)

    # ------------------------------------------------------------------ people

    def _apply_to_person(self, entry: RegisteredErasure) -> Applied:
        stage = self._stage(entry)
        if stage == "at_work":
            return stage
        keys = [User.key_of(entry.tenant, user_id) for user_id in entry.user_ids]
        found = self.table.get_many(keys)
        users = User.read_each(found, keys)
        if any(user.created_at > entry.requested_at for user in users):
            return "another_person"
        if stage is not None:
            return stage
        if any(user.erasure_id is not None for user in users):
            return "at_work"  # an operator has requested the erasure again
        now = self.clock.now()
        erasure = _erasure_of(entry, now)
        ids = [*entry.user_ids, *(former for user in users for former in user.former_ids)]
        addresses = [a for user in users for a in (*user.addresses, *user.former_addresses)]
        subject = Subject(
            tenant=entry.tenant,
            erasure_id=erasure.id,
            ids=tuple(dict.fromkeys(ids)),
            names=tuple(dict.fromkeys(user.name for user in users)),
            addresses=tuple(dict.fromkeys(addresses)),
        )
        self.table.transact(
            [
                Put(erasure.key, erasure.to_item(now), Missing()),
                Put(subject.key, subject.to_item(), Missing()),
                *self._bare(entry, users),
                *(
                    Delete(
                        AddressOwner.key_of(entry.tenant, address),
                        any_of(Missing(), *(Is("user_id", user.id) for user in users)),
                    )
                    for address in dict.fromkeys(a for user in users for a in user.addresses)
                ),
            ]
        )
        return "at_work"

    def _bare(self, entry: RegisteredErasure, users: list[User]) -> Iterator[Write]:
        """Yield the writes that reduce the person's user records to one, without personal data.

        The erasure needs this record, and deletes it at the end. If other users were merged into
        the person after the backup, their records are deleted now.
        """
        own = next((user for user in users if user.id == entry.user_id), None)
        bare = User(
            tenant=entry.tenant,
            id=entry.user_id,
            name=ERASED.name,
            erasure_id=entry.erasure_id,
            version=own.version + 1 if own else 1,
            created_at=own.created_at if own else entry.requested_at,
        )
        yield Put(bare.key, bare.attributes(), Is("version", own.version) if own else Missing())
        for user in users:
            if user is not own:
                yield Delete(user.key, Is("version", user.version))

    def _stage(self, entry: RegisteredErasure) -> Applied | None:
        erasure = Erasure.read(self.table, Erasure.key_of(entry.tenant, entry.erasure_id))
        if erasure is None:
            return None
        return "done" if erasure.stage == "done" else "at_work"

    # ------------------------------------------------------------------ messages

    def _apply_to_message(self, entry: RegisteredErasure) -> Applied:
        stage = self._stage(entry)
        if stage is not None:
            return stage
        message = self._message(entry)
        if message is None or entry.message is None:
            return "nothing_to_erase"
        if message.kind in {"deleted", "erased"}:
            return "done"
        try:
            snapshot = read_snapshot(self.table, entry.tenant, message.chat_id)
        except NotFound:
            return "nothing_to_erase"
        now = self.clock.now()
        commit_deletion(self.table, snapshot, message, _erasure_of(entry, now), now)
        return "at_work"

    def _message(self, entry: RegisteredErasure) -> Message | None:
        """Return the entry's message; None if it is missing or another message has its number."""
        if entry.message is None:
            return None
        message = Message.read(
            self.table, Message.key_of(entry.tenant, entry.message.chat_id, entry.message.seq)
        )
        same = message is not None and message.created_at == entry.message.posted_at
        return message if same else None


def _erasure_of(entry: RegisteredErasure, now: datetime) -> Erasure:
    """Return a new erasure with the id of the register entry."""
    return Erasure(
        tenant=entry.tenant,
        id=entry.erasure_id,
        user_id=entry.user_id,
        requested_by=entry.requested_by,
        requested_at=now,
        message=entry.message,
        named_texts=entry.named_texts,
    )
