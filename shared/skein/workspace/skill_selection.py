"""Skill selection for a piece of work, and the shipped skills (`prompts/skills/*.md`)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from skein.models.common.storage import Item, Key
from skein.models.visibility.audience import Audience, may_show
from skein.prompts import prompts_root
from skein.workspace.models.skill import CORE, Skill, SkillCatalog, SkillHead


class Selection(NamedTuple):
    """The skills for a piece of work, most important first.

    Attributes:
        skills: The skills that exist.
        missing: Names of selected skills that no longer exist.
    """

    skills: tuple[Skill, ...] = ()
    missing: tuple[str, ...] = ()


NOTHING_CHOSEN = Selection()


@cache
def shipped() -> Mapping[str, Skill]:
    """Return the shipped skills by name, read once per process."""
    skills = map(_read, sorted((prompts_root() / "skills").glob("*.md")))
    return MappingProxyType({skill.name: skill for skill in skills})


def _read(path: object) -> Skill:
    import frontmatter  # noqa: PLC0415 - the import takes 40 ms; only callers that show skills pay

    post = frontmatter.load(str(path), encoding="utf-8")
    return Skill.model_validate({**post.metadata, "text": post.content})


def all_heads(catalog: SkillCatalog) -> dict[str, SkillHead]:
    """Return names and descriptions of all skills. A tenant's skill replaces a shipped one."""
    ours = {name: skill.head for name, skill in shipped().items()}
    return ours | {head.name: head for head in catalog.heads}


def skills_for(
    heads: Iterable[SkillHead],
    *,
    bound: Sequence[str] = (),
    mode: str | None = None,
    tags: Sequence[str] = (),
) -> tuple[str, ...]:
    """Select the names of the skills for a piece of work, without duplicates.

    Args:
        heads: All skills of the tenant, without their texts.
        bound: Names of skills that were selected manually.
        mode: How the work is done; selects the skills of this mode.
        tags: Topics of the work; each selects the skills with this tag.

    Returns:
        `core`, then bound skills, then skills of the mode, then the skills of each tag. Skills of
            one mode or tag are sorted by name. Bound skills are included even if they do not exist.
    """
    known = sorted(heads, key=lambda head: head.name)
    of_mode = [head.name for head in known if mode is not None and mode.lower() in head.modes]
    of_tags = [head.name for tag in tags for head in known if tag.lower() in head.tags]
    return tuple(dict.fromkeys([CORE, *bound, *of_mode, *of_tags]))


def keys_of_skills(tenant: str, names: Sequence[str]) -> list[Key]:
    """Return the keys of a tenant's own skills of these names."""
    return [Skill.key_of(tenant, name) for name in names]


def skill_for(skill: Skill | None, name: str, readers: Audience) -> Skill | None:
    """Return a tenant's skill if the readers may see it, or else the shipped one of this name."""
    shown = skill is not None and may_show(skill.shown_to, readers)
    return skill if shown else shipped().get(name)


def selection(
    tenant: str, names: Sequence[str], found: Mapping[Key, Item], readers: Audience
) -> Selection:
    """Select skills by name: the tenant's own from `found`, or else shipped ones."""
    there: dict[str, Skill] = {}
    for name in names:
        skill = skill_for(Skill.read(found, Skill.key_of(tenant, name)), name, readers)
        if skill is not None:
            there[name] = skill
    missing = tuple(name for name in names if name not in there)
    return Selection(tuple(there.values()), missing)
