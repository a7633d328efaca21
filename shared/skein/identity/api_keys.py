"""The API keys of a tenant: create, list and revoke them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.errors import ConditionFailed, Conflict, Forbidden, NotFound, Unprocessable
from skein.identity.models.api_key import MAX_KEYS, ApiKey, keys_partition
from skein.identity.models.credential import Credential
from skein.models.common.storage import Delete, Exists, Missing, Put, Query, Update
from skein.ports import Clock, Ids, Table
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.identity.api import NewKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """The service of a tenant's API keys."""

    table: Table
    clock: Clock
    ids: Ids

    def create(self, tenant: str, new: "NewKey", *, by: str, roles: Collection[str]) -> ApiKey:
        """Create an API key, which is shown once.

        A key cannot have more rights than the operator who creates it. The role `tokens` gives
        access to everyone's private chats, so granting it requires the role `privacy`.

        Args:
            new: The key.
            by: The id of the operator who creates the key.
            roles: The roles of this operator.

        Raises:
            Forbidden: The key would have roles that the operator lacks.
            Unprocessable: The key's expiry is in the past.
            Conflict: The tenant has too many keys.
        """
        needed = {"privacy" if role == "tokens" else role for role in new.roles}
        lacking = sorted(needed - set(roles))
        if lacking:
            raise Forbidden(f"creating this key requires the scope {' and '.join(lacking)}")
        now = self.clock.now()
        if new.expires_at is not None and new.expires_at <= now:
            raise Unprocessable("expires_at must be in the future")
        page = self.table.query(Query.under(keys_partition(tenant), ApiKey.PREFIX))
        if len(page.items) >= MAX_KEYS:
            raise Conflict(f"a tenant has at most {MAX_KEYS} API keys")
        key_id = f"key_{self.ids.ulid()}"
        credential = Credential.new("key", tenant, key_id)
        key = ApiKey(
            tenant=tenant,
            id=key_id,
            name=new.name,
            roles=tuple(dict.fromkeys(new.roles)),
            hash=credential.hash,
            created_by=by,
            created_at=now,
            ends_at=new.expires_at,
        )
        self.table.write(Put(key.key, key.to_item(), Missing()))
        return key.model_copy(update={"text": credential.text})

    def rotate(self, tenant: str, key_id: str) -> ApiKey:
        """Give an API key a new secret, which is shown once. The old secret is invalid at once.

        Raises:
            NotFound: There is no such key.
        """
        credential = Credential.new("key", tenant, key_id)
        key = ApiKey.read(self.table, ApiKey.key_of(tenant, key_id))
        if key is None:
            raise NotFound("API key not found")
        try:
            self.table.write(Update(key.key, set={"hash": credential.hash}, condition=Exists()))
        except ConditionFailed as failure:
            raise NotFound("API key not found") from failure
        return key.model_copy(update={"hash": credential.hash, "text": credential.text})

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ApiKey]:
        """List a page of a tenant's API keys, oldest first, including expired ones.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            keys_partition(tenant),
            (ApiKey.PREFIX,),
            ApiKey.from_item,
            limit=limit,
            cursor=cursor,
        )

    def delete(self, tenant: str, key_id: str) -> None:
        """Revoke an API key: the key and all tokens created with it are rejected from now on.

        Raises:
            NotFound: There is no such key.
        """
        try:
            self.table.write(Delete(ApiKey.key_of(tenant, key_id), Exists()))
        except ConditionFailed as failure:
            raise NotFound("API key not found") from failure
