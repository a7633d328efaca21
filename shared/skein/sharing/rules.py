"""The sharing rules of a tenant: create, list, change and delete them."""

from dataclasses import dataclass, replace
from datetime import datetime

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Is, Missing, Put, Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.visibility.sharing_rules import (
    MAX_ENDED,
    MAX_RULES,
    RulesVersion,
    SharingRule,
    SharingRuleFields,
    SharingRules,
)
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition


def read_rules(table: Table, tenant: str) -> SharingRules:
    """Return a tenant's rules; empty if it never had any."""
    rules = SharingRules.read(table, SharingRules.key_of(tenant))
    return rules or SharingRules(tenant=tenant)


def _announced(table: Table, tenant: str, now: datetime) -> Write:
    """Return the write that marks a tenant as having rules, so that its runs read them."""
    key = TenantSettings.key_of(tenant)
    tenant_settings = TenantSettings.read(table, key)
    if tenant_settings is not None:
        version = tenant_settings.version
        change = {"sharing": True, "version": version + 1}
        return Update(key, set=change, condition=Is("version", version))
    settings = TenantSettings(tenant=tenant, sharing=True, changed_at=now)
    return Put(key, settings.to_item(), Missing())


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChanges:
    """The service that changes the sharing rules of tenants, one version at a time."""

    table: Table
    clock: Clock
    ids: Ids

    def add(self, tenant: str, fields: SharingRuleFields, *, by: str) -> SharingRule:
        """Add a rule; `by` is the operator.

        Raises:
            Conflict: The tenant has too many rules.
            Unprocessable: The rule ends before it begins.
        """
        now = self.clock.now()
        begins_at = max(now, fields.starts_at or now)
        if fields.ends_at is not None and fields.ends_at <= begins_at:
            raise Unprocessable("ends_at must be later than the beginning")
        rule = SharingRule(**dict(fields), id=f"shr_{self.ids.ulid()}", begins_at=begins_at)

        def attempt() -> SharingRule:
            known = read_rules(self.table, tenant)
            left = tuple(each for each in known.rules if each.ends_at is None or each.ends_at > now)
            if len(left) >= MAX_RULES:
                raise Conflict(f"a tenant has at most {MAX_RULES} sharing rules")
            over = tuple(each for each in known.rules if each not in left)
            self._write(known, (*left, rule), (*known.ended, *over), by)
            return rule

        return optimistic(self.clock, attempt)

    def change(
        self, tenant: str, rule_id: str, given: dict[str, object], *, by: str
    ) -> SharingRule:
        """Change the name, the reason or the end of a rule.

        Raises:
            NotFound: There is no such rule.
            Conflict: The rule has ended. Extending it would also share what was said since then.
            Unprocessable: The rule would end before it begins.
        """

        def attempt() -> SharingRule:
            known = read_rules(self.table, tenant)
            rule = _rule_in(known.rules, rule_id)
            if rule.ends_at is not None and rule.ends_at <= self.clock.now():
                raise Conflict("the rule has ended; create another one")
            changed = SharingRule.model_validate(dict(rule) | given)
            if changed.ends_at is not None and changed.ends_at <= changed.begins_at:
                raise Unprocessable("ends_at must be later than the beginning")
            rules = tuple(changed if each is rule else each for each in known.rules)
            moved = changed.ends_at != rule.ends_at  # runs use the end that they have read
            self._write(known, rules, known.ended, by, withdraws=moved)
            return changed

        return optimistic(self.clock, attempt)

    def withdraw(self, tenant: str, rule_id: str, *, by: str) -> None:
        """Delete a rule: from now on, nothing is shared by it, not even by runs in progress.

        Raises:
            NotFound: There is no such rule.
        """

        def attempt() -> None:
            known = read_rules(self.table, tenant)
            rule = _rule_in(known.rules, rule_id)
            ended = rule.model_copy(update={"withdrawn_at": self.clock.now()})
            left = tuple(each for each in known.rules if each is not rule)
            self._write(known, left, (*known.ended, ended), by, withdraws=True)

        optimistic(self.clock, attempt)

    def read(self, tenant: str) -> SharingRules:
        return read_rules(self.table, tenant)

    def get(self, tenant: str, rule_id: str) -> SharingRule:
        """Return a current rule, or one of the rules that were deleted last.

        Raises:
            NotFound: There is no such rule.
        """
        known = read_rules(self.table, tenant)
        return _rule_in((*known.rules, *known.ended), rule_id)

    def versions(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[RulesVersion]:
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
        withdraws: bool = False,
    ) -> None:
        """Write the next version. With the first version, also mark the tenant as having rules.

        Args:
            withdraws: Whether the change stops words from being shared.
        """
        now, kept = self.clock.now(), ended[-MAX_ENDED:]
        change = {"rules": rules, "ended": kept, "changed_at": now, "changed_by": by}
        revised, write = revise(known, change)
        version = RulesVersion(
            tenant=known.tenant, version=revised.version, rules=rules, changed_at=now, changed_by=by
        )
        stored = Put(version.key, version.to_item(), Missing())
        if known.version == 0:
            first = Put(revised.key, revised.to_item(), Missing())
            self.table.transact([first, _announced(self.table, known.tenant, now), stored])
        else:
            raised = replace(write, add={"epoch": 1} if withdraws else {})
            self.table.transact([raised, stored])


def _rule_in(rules: tuple[SharingRule, ...], rule_id: str) -> SharingRule:
    for rule in rules:
        if rule.id == rule_id:
            return rule
    raise NotFound("sharing rule not found")
