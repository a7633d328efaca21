"""Write versions of a tenant's sharing rules; each change of a rule makes one."""

from dataclasses import dataclass, replace
from datetime import datetime

from skein.errors import Conflict
from skein.models.common.storage import Is, Missing, Put, Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.config.sharing import (
    MAX_ENDED,
    MAX_RULES,
    RulesVersion,
    SharingRule,
    SharingRules,
)
from skein.ports import Table
from skein.services.common.optimistic import revise


def read_rules(table: Table, tenant: str) -> SharingRules:
    """Return a tenant's rules; none if there never was one."""
    item = table.get(SharingRules.key_of(tenant))
    return SharingRules.from_item(item) if item is not None else SharingRules(tenant=tenant)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The next version of a tenant's rules.

    Attributes:
        known: The rules before it.
        by: Who makes it.
        withdraws: Whether something may not be told any more.
    """

    known: SharingRules
    rules: tuple[SharingRule, ...]
    ended: tuple[SharingRule, ...]
    by: str
    at: datetime
    withdraws: bool = False

    @classmethod
    def with_rule(
        cls, known: SharingRules, rule: SharingRule, by: str, at: datetime
    ) -> "NewVersion":
        """Return the version with one more rule; those that have ended go.

        Raises:
            Conflict: The tenant has too many rules.
        """
        left = tuple(each for each in known.rules if each.ends_at is None or each.ends_at > at)
        if len(left) >= MAX_RULES:
            raise Conflict(f"a tenant has at most {MAX_RULES} sharing rules")
        over = tuple(each for each in known.rules if each not in left)
        return cls(known, (*left, rule), (*known.ended, *over), by, at)

    def writes(self, table: Table) -> list[Write]:
        """Return the writes; the first one also tells turns that the tenant has rules."""
        known = self.known
        revised, write = revise(
            known,
            {
                "rules": self.rules,
                "ended": self.ended[-MAX_ENDED:],
                "changed_at": self.at,
                "changed_by": self.by,
            },
        )
        version = RulesVersion(
            tenant=known.tenant,
            version=revised.version,
            rules=self.rules,
            changed_at=self.at,
            changed_by=self.by,
        )
        kept = Put(version.key, version.to_item(), Missing())
        if known.version == 0:
            first = Put(revised.key, revised.to_item(), Missing())
            return [first, _announced(table, known.tenant, self.at), kept]
        return [replace(write, add={"epoch": 1} if self.withdraws else {}), kept]


def _announced(table: Table, tenant: str, now: datetime) -> Write:
    """Return the write by which turns of the tenant read the rules from now on."""
    key = TenantSettings.key_of(tenant)
    item = table.get(key)
    if item is not None:
        version = TenantSettings.from_item(item).version
        change = {"sharing": True, "version": version + 1}
        return Update(key, set=change, condition=Is("version", version))
    settings = TenantSettings(tenant=tenant, sharing=True, changed_at=now)
    return Put(key, settings.to_item(), Missing())
