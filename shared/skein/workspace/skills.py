"""Skills of tenants: store and select them, together with the shipped skills."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import Conflict, NotFound
from skein.models.common.storage import Condition, Delete, Is, Missing, Put, Write, at_version
from skein.models.visibility.audience import OPEN, Audience, may_show
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.workspace.models.skill import MAX_SKILLS, Skill, SkillCatalog, SkillHead
from skein.workspace.skill_selection import (
    Selection,
    all_heads,
    keys_of_skills,
    selection,
    skill_for,
    skills_for,
)


class ListedSkill(NamedTuple):
    """A skill in a list.

    Attributes:
        shipped: The skill comes with Skein and is not the tenant's own.
    """

    head: SkillHead
    shipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """Storage of tenants' skills."""

    table: Table
    clock: Clock

    def selected(
        self,
        tenant: str,
        *,
        bound: Sequence[str] = (),
        mode: str | None = None,
        tags: Sequence[str] = (),
        readers: Audience = OPEN,
    ) -> Selection:
        """Read the skills for a piece of work; see `skills_for`."""
        catalog = self._catalog(tenant)
        heads = all_heads(catalog).values()
        names = skills_for(heads, bound=bound, mode=mode, tags=tags)
        found = self.table.get_many(keys_of_skills(tenant, names))
        return selection(tenant, names, found, readers)

    def get(self, tenant: str, name: str, readers: Audience = OPEN) -> Skill:
        """Get a skill by name: the tenant's own, or else the shipped one.

        Raises:
            NotFound: No skill that the readers may see has this name.
        """
        skill = skill_for(Skill.read(self.table, Skill.key_of(tenant, name)), name, readers)
        if skill is None:
            raise NotFound("skill not found")
        return skill

    def list(self, tenant: str, readers: Audience = OPEN) -> tuple[ListedSkill, ...]:
        """List all skills that the tenant's agents can use, by name.

        The catalog is open content, and doesn't say which skills are public. So readers who may
        not see open content get the shipped skills.
        """
        catalog = self._catalog(tenant) if may_show(OPEN, readers) else SkillCatalog()
        own = {head.name for head in catalog.heads}
        heads = sorted(all_heads(catalog).values(), key=lambda head: head.name)
        return tuple(ListedSkill(head, shipped=head.name not in own) for head in heads)

    def put(
        self,
        tenant: str,
        head: SkillHead,
        text: str,
        *,
        public: bool = False,
        only_new: bool = False,
    ) -> Skill:
        """Create or replace a tenant's skill, which overrides a shipped skill of the same name.

        Args:
            head: The skill's name, and the modes and tags that select the skill.
            text: The instructions.
            public: Whether visitors may be shown the skill, too.
            only_new: Require that the tenant has no skill of this name.

        Raises:
            Conflict: `only_new` is set and the skill exists, or the tenant already has 100 skills.
        """

        def attempt() -> Skill:
            found = self.table.get_many([Skill.key_of(tenant, head.name), catalog_key])
            before = Skill.read(found, Skill.key_of(tenant, head.name))
            catalog = SkillCatalog.from_optional(found.get(catalog_key))
            if before is not None and only_new:
                raise Conflict("a skill with this name already exists")
            if before is None and len(catalog.heads) >= MAX_SKILLS:
                raise Conflict(f"there are already {MAX_SKILLS} skills; delete one first")
            skill = Skill(
                tenant=tenant,
                **dict(head),
                text=text,
                public=public,
                version=before.version + 1 if before is not None else 1,
                updated_at=self.clock.now(),
            )
            as_read: Condition = Missing() if before is None else Is("version", before.version)
            put = Put(Skill.key_of(tenant, skill.name), skill.attributes(), as_read)
            self.table.transact([put, _catalogued(tenant, catalog, catalog.with_head(head))])
            return skill

        catalog_key = SkillCatalog.key_of(tenant)
        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, name: str) -> None:
        """Delete a tenant's own skill; a shipped skill of the same name takes effect again.

        Raises:
            NotFound: The tenant has no skill of this name.
        """

        def attempt() -> None:
            found = self.table.get_many([Skill.key_of(tenant, name), SkillCatalog.key_of(tenant)])
            item = found.get(Skill.key_of(tenant, name))
            if item is None:
                raise NotFound("skill not found")
            catalog = SkillCatalog.from_optional(found.get(SkillCatalog.key_of(tenant)))
            gone = Delete(Skill.key_of(tenant, name), Is("version", item["version"]))
            self.table.transact([gone, _catalogued(tenant, catalog, catalog.without(name))])

        optimistic(self.clock, attempt)

    def _catalog(self, tenant: str) -> SkillCatalog:
        return SkillCatalog.from_optional(self.table.get(SkillCatalog.key_of(tenant)))


def _catalogued(tenant: str, before: SkillCatalog, after: SkillCatalog) -> Write:
    return Put(SkillCatalog.key_of(tenant), after.attributes(), at_version(before.version))
