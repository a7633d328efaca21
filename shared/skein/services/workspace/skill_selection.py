"""Which skills go with a piece of work, and the ones that we ship: `prompts/skills/*.md`."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from skein.models.skill import CORE, Skill, SkillCatalog, SkillHead
from skein.models.storage import Item, Key
from skein.prompts import prompts_root


class Selection(NamedTuple):
    """The skills of a piece of work, in the order in which they count.

    Attributes:
        skills: Those that are there.
        missing: The names of those that were bound and are gone.
    """

    skills: tuple[Skill, ...] = ()
    missing: tuple[str, ...] = ()


NOTHING_CHOSEN = Selection()


@cache
def shipped() -> Mapping[str, Skill]:
    """Our skills by name; files do not change while a process lives."""
    skills = map(_read, sorted((prompts_root() / "skills").glob("*.md")))
    return MappingProxyType({skill.name: skill for skill in skills})


def _read(path: object) -> Skill:
    import frontmatter  # noqa: PLC0415 - 40 ms, which only those pay who show skills

    post = frontmatter.load(str(path), encoding="utf-8")
    return Skill.model_validate({**post.metadata, "text": post.content})


def known_heads(catalog: SkillCatalog) -> dict[str, SkillHead]:
    """The heads of all skills that a tenant's agents can have; its own take the place of ours."""
    ours = {name: skill.head for name, skill in shipped().items()}
    return ours | {head.name: head for head in catalog.heads}


def skills_for(
    heads: Iterable[SkillHead],
    *,
    bound: Sequence[str] = (),
    mode: str | None = None,
    tags: Sequence[str] = (),
) -> tuple[str, ...]:
    """The names of the skills of a piece of work, none twice.

    Args:
        heads: Of all skills that there are.
        bound: Names of those that were chosen by hand.
        mode: How the work is done.
        tags: What it is about.

    Returns:
        `core`, the bound ones, those of the mode and those of each tag, in this order; among those
        of one mode or tag by name. Bound ones are named whether they are there or not.
    """
    known = sorted(heads, key=lambda head: head.name)
    of_mode = [head.name for head in known if mode is not None and mode.lower() in head.modes]
    of_tags = [head.name for tag in tags for head in known if tag.lower() in head.tags]
    return tuple(dict.fromkeys([CORE, *bound, *of_mode, *of_tags]))


def keys_of_skills(tenant: str, names: Sequence[str]) -> list[Key]:
    """Where the tenant's own skills of these names stand, if it has any."""
    return [Skill.key_of(tenant, name) for name in names]


def selection(tenant: str, names: Sequence[str], found: Mapping[Key, Item]) -> Selection:
    """The skills of these names, from what was read of the tenant's own, and else ours."""
    there: dict[str, Skill] = {}
    for name in names:
        item = found.get(Skill.key_of(tenant, name))
        skill = Skill.from_item(item) if item is not None else shipped().get(name)
        if skill is not None:
            there[name] = skill
    missing = tuple(name for name in names if name not in there)
    return Selection(tuple(there.values()), missing)
