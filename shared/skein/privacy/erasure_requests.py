"""Start erasures and get their status."""

from dataclasses import dataclass

from skein.errors import NotFound
from skein.models.common.storage import Delete, Is, Missing, Put, Query, Write, any_of
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import User
from skein.models.outbox.jobs import ErasureJob
from skein.ports import Clock, Ids, Table
from skein.privacy.erasure_sweep import ERASED
from skein.privacy.models.erasure import (
    ERASURE,
    Erasure,
    NamedTexts,
    Subject,
    erasures_partition,
)
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import DEFAULT_PAGE, Listing, RowCursor
from skein.services.directory.name_index import unindexed
from skein.services.outbox.dispatch import Dispatch

MAX_QUERIES = 10  # for one page of the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasures:
    """Service with which operators start, get and list erasures of people."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch

    def request(
        self, tenant: str, user_id: str, *, by: str, named_texts: NamedTexts = "keep"
    ) -> Erasure:
        """Start the erasure of a person, or return the erasure that is in progress (idempotent).

        From then on, the person cannot join chats, and the person's addresses have no owner.

        Args:
            by: The operator who requests the erasure.
            named_texts: What happens to other people's texts that contain the person's full name.
                If an erasure is in progress, its earlier decision stays in force.

        Raises:
            NotFound: The person does not exist or is already erased.
        """
        erasure_id = f"era_{self.ids.ulid()}"
        erasure = optimistic(
            self.clock,
            lambda: self._request_once(tenant, user_id, by, erasure_id, named_texts),
            finds_own_write=True,
        )
        if erasure.finished_at is None:
            self.dispatch.send([job_of(erasure)])
        return erasure

    def get(self, tenant: str, erasure_id: str) -> Erasure:
        """Get an erasure, in progress or done.

        Raises:
            NotFound: The erasure does not exist.
        """
        erasure = Erasure.read(self.table, Erasure.key_of(tenant, erasure_id))
        if erasure is None:
            raise NotFound("erasure not found")
        return erasure

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Erasure]:
        """List a page of a tenant's erasures of people, newest first.

        The working records of an erasure in progress lie between erasures in the table. Skipping
        them takes one query for each erasure in progress. A page uses at most `MAX_QUERIES`
        queries, so it can be short.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        below = RowCursor.key_in(cursor, "erasures")
        found: list[Erasure] = []
        for _ in range(MAX_QUERIES):
            items, below = _newest_below(self.table, tenant, below, limit + 2)
            found.extend(erasure for erasure in items if erasure.message is None)
            if below is None or len(found) > limit:
                break
        shown = found[:limit]
        if len(found) > limit:
            below = shown[-1].key.sk
        return Listing(
            tuple(shown), RowCursor(of="erasures", after=below).encode() if below else None
        )

    def _request_once(
        self, tenant: str, user_id: str, by: str, erasure_id: str, named_texts: NamedTexts
    ) -> Erasure:
        user, now = User.read(self.table, User.key_of(tenant, user_id)), self.clock.now()
        if user is None:
            raise NotFound("user not found")
        if user.erasure_id is not None:
            return self.get(tenant, user.erasure_id)
        erasure = Erasure(
            tenant=tenant,
            id=erasure_id,
            user_id=user_id,
            requested_by=by,
            requested_at=now,
            named_texts=named_texts,
        )
        subject = subject_of(user, erasure.id)
        bare = User(
            tenant=tenant,
            id=user_id,
            name=ERASED.name,
            erasure_id=erasure.id,
            version=user.version + 1,
            **user.next_sharing,
            created_at=user.created_at,
        )
        writes: list[Write] = [
            Put(user.key, bare.attributes(), Is("version", user.version)),
            Put(erasure.key, erasure.to_item(now), Missing()),
            Put(subject.key, subject.to_item(), Missing()),
        ]
        writes.extend(
            Delete(AddressOwner.key_of(tenant, address), any_of(Missing(), Is("user_id", user_id)))
            for address in user.addresses
        )
        writes.extend(unindexed(user))
        self.table.transact(writes)
        return erasure


def subject_of(user: User, erasure_id: str) -> Subject:
    """Return the subject of an erasure, with all ids, names and addresses in the user's record."""
    return Subject(
        tenant=user.tenant,
        erasure_id=erasure_id,
        ids=tuple(dict.fromkeys([user.id, *user.former_ids])),
        names=(user.name,),
        addresses=tuple(dict.fromkeys([*user.addresses, *user.former_addresses])),
    )


def job_of(erasure: Erasure) -> ErasureJob:
    """Return the job with which a worker continues an erasure."""
    return ErasureJob(tenant=erasure.tenant, erasure_id=erasure.id)


def _newest_below(
    table: Table, tenant: str, below: str | None, rows: int
) -> tuple[list[Erasure], str | None]:
    """Read the newest erasures with sort keys below `below`, with one query.

    Returns:
        The erasures, and the value of `below` for the next query, which is None at the end.
    """
    last = ERASURE.last if below is None else below
    page = table.query(
        Query(erasures_partition(tenant), first=ERASURE, last=last, limit=rows, newest_first=True)
    )
    items = [item for item in page.items if item["sk"] != below]
    heads = (item for item in items if item["sk"] == Erasure.sort_key_in(item["sk"]))
    found = list(Erasure.each_of(heads))
    if page.next_start is None or not items:
        return found, None
    end = items[-1]["sk"]
    erasure = Erasure.sort_key_in(end)
    return found, end if end == erasure else f"{erasure}#"  # working records follow their erasure
