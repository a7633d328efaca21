"""Erasure requests: start an erasure and get its status."""

from dataclasses import dataclass

from skein.errors import Ambiguous, ConditionFailed, NotFound
from skein.models.common.storage import Delete, Is, Missing, Put, Write, any_of
from skein.models.directory.phone import PhoneOwner
from skein.models.directory.user import User
from skein.models.outbox.jobs import ErasureJob
from skein.models.privacy.erasure import Erasure, Subject
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic
from skein.services.outbox.dispatch import Dispatch
from skein.services.privacy.erasure_sweep import ERASED


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasures:
    """Operators' access to erasures."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch

    def request(self, tenant: str, user_id: str, *, by: str) -> Erasure:
        """Start the erasure of a person, or return the one that is in progress (idempotent).

        From then on, the person's phone numbers belong to nobody, and the person can join no chat.

        Args:
            tenant: The owner of the data.
            user_id: The person's id.
            by: The operator who asks.

        Raises:
            NotFound: The person does not exist or is already erased.
        """
        erasure_id = f"era_{self.ids.ulid()}"
        erasure = optimistic(
            self.clock, lambda: self._request_once(tenant, user_id, by, erasure_id)
        )
        if erasure.finished_at is None:
            self.dispatch.send([job_of(erasure)])
        return erasure

    def get(self, tenant: str, erasure_id: str) -> Erasure:
        """Get an erasure, in progress or done.

        Raises:
            NotFound: The erasure does not exist.
        """
        item = self.table.get(Erasure.key_of(tenant, erasure_id))
        if item is None:
            raise NotFound("erasure not found")
        return Erasure.from_item(item)

    def _request_once(self, tenant: str, user_id: str, by: str, erasure_id: str) -> Erasure:
        item = self.table.get(User.key_of(tenant, user_id))
        if item is None:
            raise NotFound("user not found")
        user, now = User.from_item(item), self.clock.now()
        if user.erasure_id is not None:
            return self.get(tenant, user.erasure_id)
        erasure = Erasure(
            tenant=tenant, id=erasure_id, user_id=user_id, requested_by=by, requested_at=now
        )
        subject = Subject(
            tenant=tenant,
            erasure_id=erasure.id,
            ids=tuple(dict.fromkeys([user.id, *user.former_ids])),
            names=(user.name,),
            phones=tuple(dict.fromkeys([*user.phones, *user.former_phones])),
        )
        bare = User(
            tenant=tenant,
            id=user_id,
            name=ERASED.name,
            erasure_id=erasure.id,
            version=user.version + 1,
            created_at=user.created_at,
        )
        writes: list[Write] = [
            Put(user.key, bare.attributes(), Is("version", user.version)),
            Put(erasure.key, erasure.to_item(now), Missing()),
            Put(subject.key, subject.to_item(), Missing()),
        ]
        writes.extend(
            Delete(PhoneOwner.key_of(tenant, phone), any_of(Missing(), Is("user_id", user_id)))
            for phone in user.phones
        )
        try:
            self.table.transact(writes)
        except Ambiguous:
            raise ConditionFailed(frozenset()) from None  # retry: the transaction may be committed
        return erasure


def job_of(erasure: Erasure) -> ErasureJob:
    """Return the job that has a worker continue an erasure."""
    return ErasureJob(tenant=erasure.tenant, erasure_id=erasure.id)
