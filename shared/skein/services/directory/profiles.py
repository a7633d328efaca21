"""What agents note about the person they talk to."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.errors import ConditionFailed, Unprocessable
from skein.models.api.directory import UserChange
from skein.models.base import NamedMember
from skein.models.free_fields import OWN_FIELDS
from skein.models.ownership import effect_kept_until, effect_key
from skein.models.storage import Check, Missing, Put, Write
from skein.models.user import User
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise, transact_guarded
from skein.services.directory.users import changes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Writes down what agents learn of people."""

    table: Table
    clock: Clock

    def note(
        self,
        tenant: str,
        person: NamedMember,
        field: str,
        value: Any,
        *,
        agent_id: str,
        effect: str,
        guard: Check,
    ) -> None:
        """Set one field of a person's profile, their name or their time zone.

        Args:
            tenant: Whose person.
            person: As they stand in the chat; they get a record if they have none.
            field: Which.
            value: What it is to hold; None takes it away, which a name does not allow.
            agent_id: Who notes it.
            effect: The id of the run's effect; the same one again changes nothing.
            guard: A check on the run.

        Raises:
            Unprocessable: The value does not fit the field, or is too much.
            LostLease: The guard does not hold.
        """
        fields = {field: value} if field in OWN_FIELDS else {"profile": {field: value}}
        try:
            change = UserChange.model_validate(fields)
        except ValidationError as error:
            reasons = dict.fromkeys(reason["msg"] for reason in error.errors())
            raise Unprocessable(f"{field}: {'; '.join(reasons)}") from None
        if not change.given:
            raise Unprocessable(f"{field}: this cannot be taken away")
        done = effect_key(tenant, agent_id, None, effect)

        def attempt() -> None:
            kept_until = effect_kept_until(self.clock.now())
            mark = Put(done, {"expires_at": kept_until}, Missing())
            try:
                transact_guarded(self.table, [mark, self._change(tenant, person, change)], guard)
            except ConditionFailed as failure:
                if 0 not in failure.failed:
                    raise

        optimistic(self.clock, attempt)

    def _change(self, tenant: str, person: NamedMember, change: UserChange) -> Write:
        item = self.table.get(User.key_of(tenant, person.id))
        if item is not None:
            user = User.from_item(item)
            _, write = revise(user, changes_of(user, change))
            return write
        now = self.clock.now()
        user = User(tenant=tenant, id=person.id, name=person.name, created_at=now)
        user = user.model_copy(update=changes_of(user, change))
        return Put(user.key, user.to_item(), Missing())
