"""The sharing rules of a tenant: make, list, change and delete them."""

from dataclasses import dataclass, replace

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Is, Missing, Put, Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.config.sharing import (
    MAX_ENDED,
    MAX_RULES,
    RulesVersion,
    SharingRule,
    SharingRuleFields,
    SharingRules,
)
from skein.models.directory.user import User
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChanges:
    """The service that changes the sharing rules of tenants, one version at a time."""

    table: Table
    clock: Clock
    ids: Ids

    def add(
        self, tenant: str, fields: SharingRuleFields, *, by: str, own: bool = False
    ) -> SharingRule:
        """Add a rule.

        Args:
            by: The operator, or the person who makes a rule for their own words.
            own: Whether it is such a rule.

        Raises:
            Conflict: The tenant has too many rules.
            Unprocessable: A person whom it names does not exist, or it ends before it begins.
        """
        now = self.clock.now()
        begins_at = max(now, fields.starts_at or now)
        if fields.ends_at is not None and fields.ends_at <= begins_at:
            raise Unprocessable("ends_at must be later than the beginning")
        self._check_people(tenant, fields)
        rule = SharingRule(
            **dict(fields), id=f"shr_{self.ids.ulid()}", begins_at=begins_at, own=own
        )

        def attempt() -> SharingRule:
            known = self.read(tenant)
            left = tuple(each for each in known.rules if each.ends_at is None or each.ends_at > now)
            if len(left) >= MAX_RULES:
                raise Conflict(f"a tenant has at most {MAX_RULES} sharing rules")
            over = tuple(each for each in known.rules if each not in left)
            self._write(known, (*left, rule), (*known.ended, *over), by, withdraws=False)
            return rule

        return optimistic(self.clock, attempt)

    def change(
        self, tenant: str, rule_id: str, given: dict[str, object], *, by: str
    ) -> SharingRule:
        """Change the name, the reason or the end of a rule.

        Raises:
            NotFound: There is no such rule.
            Unprocessable: It would end before it begins.
        """

        def attempt() -> SharingRule:
            known = self.read(tenant)
            rule = _rule_in(known, rule_id)
            changed = rule.model_copy(update=given)
            if changed.ends_at is not None and changed.ends_at <= changed.begins_at:
                raise Unprocessable("ends_at must be later than the beginning")
            rules = tuple(changed if each is rule else each for each in known.rules)
            ends = changed.ends_at is not None and changed.ends_at <= self.clock.now()
            self._write(known, rules, known.ended, by, withdraws=ends)
            return changed

        return optimistic(self.clock, attempt)

    def withdraw(self, tenant: str, rule_id: str, *, by: str, own_of: str | None = None) -> None:
        """Delete a rule: nothing more is told by it, also not by runs that are at work now.

        Args:
            own_of: Only a rule that this person made; None for any rule.

        Raises:
            NotFound: There is no such rule.
        """

        def attempt() -> None:
            known = self.read(tenant)
            rule = _rule_in(known, rule_id)
            if own_of is not None and not (rule.own and rule.from_.user_id == own_of):
                raise NotFound("sharing rule not found")
            ended = rule.model_copy(update={"withdrawn_at": self.clock.now()})
            left = tuple(each for each in known.rules if each is not rule)
            self._write(known, left, (*known.ended, ended), by, withdraws=True)

        optimistic(self.clock, attempt)

    def read(self, tenant: str) -> SharingRules:
        """Return a tenant's rules; none if there never was one."""
        item = self.table.get(SharingRules.key_of(tenant))
        return SharingRules.from_item(item) if item is not None else SharingRules(tenant=tenant)

    def get(self, tenant: str, rule_id: str) -> SharingRule:
        """Return a rule, also one of the latest that have ended.

        Raises:
            NotFound: There is no such rule.
        """
        known = self.read(tenant)
        found = next((rule for rule in (*known.rules, *known.ended) if rule.id == rule_id), None)
        if found is None:
            raise NotFound("sharing rule not found")
        return found

    def versions(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[RulesVersion]:
        """List a page of the versions, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            RulesVersion.partition_of(tenant),
            (RulesVersion.PREFIX,),
            RulesVersion.from_item,
            limit=limit,
            cursor=cursor,
        )

    def _write(
        self,
        known: SharingRules,
        rules: tuple[SharingRule, ...],
        ended: tuple[SharingRule, ...],
        by: str,
        *,
        withdraws: bool,
    ) -> None:
        """Write the next version, and say in the tenant's settings that there are rules."""
        now = self.clock.now()
        revised, write = revise(
            known,
            {"rules": rules, "ended": ended[-MAX_ENDED:], "changed_at": now, "changed_by": by},
        )
        version = RulesVersion(
            tenant=known.tenant,
            version=revised.version,
            rules=rules,
            changed_at=now,
            changed_by=by,
        )
        if known.version == 0:
            first: list[Write] = [Put(revised.key, revised.to_item(), Missing())]
            writes = [*first, self._announced(known.tenant)]
        else:
            writes = [replace(write, add={"epoch": 1} if withdraws else {})]
        writes.append(Put(version.key, version.to_item(), Missing()))
        self.table.transact(writes)

    def _announced(self, tenant: str) -> Write:
        """Return the write by which turns of the tenant read the rules from now on."""
        key = TenantSettings.key_of(tenant)
        item = self.table.get(key)
        if item is not None:
            version = TenantSettings.from_item(item).version
            change = {"sharing": True, "version": version + 1}
            return Update(key, set=change, condition=Is("version", version))
        settings = TenantSettings(tenant=tenant, sharing=True, changed_at=self.clock.now())
        return Put(key, settings.to_item(), Missing())

    def _check_people(self, tenant: str, fields: SharingRuleFields) -> None:
        named = [party.user_id for party in (fields.from_, fields.to) if party.user_id is not None]
        keys = [User.key_of(tenant, user_id) for user_id in dict.fromkeys(named)]
        found = self.table.get_many(keys) if keys else {}
        users = [User.from_item(found[key]) for key in keys if key in found]
        if len(users) < len(keys) or any(user.erasure_id is not None for user in users):
            raise Unprocessable("a rule names a person who does not exist")


def _rule_in(known: SharingRules, rule_id: str) -> SharingRule:
    rule = known.rule(rule_id)
    if rule is None:
        raise NotFound("sharing rule not found")
    return rule
