"""SKILLS: the skills for the active thread, each in full or by name.

- What is read: `core`, the tenant's skill catalog if a thread is active, and the thread's skills.
- What is kept: `core`, then the thread's bound skills, those of its mode, and those of its tags.
  Without a thread, only `core`. The tenant's own skills replace shipped ones of the same name.
- What is left out: the shipped rules on documents and threads, if a prompt has neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.models.common.storage import Key
from skein.models.outbox.jobs import RunJob
from skein.models.visibility.provenance import Authors
from skein.workspace.models.skill import CORE, Skill, SkillCatalog
from skein.workspace.models.thread import Thread
from skein.workspace.sections.documents import Documents
from skein.workspace.sections.threads import Threads
from skein.workspace.skill_selection import (
    NOTHING_CHOSEN,
    Selection,
    all_heads,
    keys_of_skills,
    selection,
    shipped,
    skills_for,
)

SKILL_TOKENS = 4_000  # a skill is never cut
READ_SKILL = "read_skill"


@dataclass(frozen=True, slots=True)
class Skills(SectionItems):
    """The skills of the active thread, or only `core` without one."""

    chosen: Selection = NOTHING_CHOSEN

    @classmethod
    def guess(cls, job: RunJob) -> Iterable[Key]:
        """Return the key of the skill that every prompt shows."""
        return keys_of_skills(job.tenant, (CORE,))

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the key of the catalog and, once the catalog is read, the keys of the skills."""
        tenant, thread = read.run.tenant, _thread(read)
        skills = keys_of_skills(tenant, _names(read, thread))
        return [*skills, SkillCatalog.key_of(tenant)] if thread is not None else skills

    @classmethod
    def found(cls, read: SectionReads) -> "Skills":
        """Keep the tenant's own version of each skill, or else the shipped one."""
        names = _names(read, _thread(read))
        return cls(selection(read.run.tenant, names, read.found, read.readers))

    def authors(self) -> Iterable[Authors]:
        """Return no authors, because skills are written by operators."""
        return ()


def _thread(read: SectionReads) -> Thread | None:
    """Return the active thread, or None."""
    return Threads.opened(read).active if read.may_have(Threads) else None


def _names(read: SectionReads, thread: Thread | None) -> tuple[str, ...]:
    """Return the names of the skills to show: `core`, bound ones, then those of mode and tags."""
    if thread is None:
        return (CORE,)
    catalog = read.found.get(SkillCatalog.key_of(read.run.tenant))
    heads = all_heads(SkillCatalog.from_optional(catalog)).values()
    bound, mode, tags = thread.bound_skills, thread.mode, thread.skill_tags
    return skills_for(heads, bound=bound, mode=mode, tags=tags)


def skills(given: SectionInput) -> Section | None:
    """Render the skills that fit, in order, and the others by name, if there are any.

    `core` is always shown in full.
    """
    chosen, reading, counter = given.reading.of(Skills).chosen, given.reading, given.counter
    tools = any("document" in name or "thread" in name for name in given.tools)
    if not (tools or reading.has(Documents) or reading.has(Threads)):
        rules = shipped()[CORE]
        chosen = chosen._replace(skills=tuple(each for each in chosen.skills if each != rules))
    may_read = READ_SKILL in reading.agent.enabled_tools
    if not chosen.skills and not chosen.missing:
        return None

    def shorter(tokens: int) -> Section:
        shown: list[Skill] = []
        text = _text(shown, chosen, may_read=may_read)
        for skill in chosen.skills:
            longer = _text([*shown, skill], chosen, may_read=may_read)
            if skill.name == CORE or counter.count(longer + SEPARATOR) <= tokens:
                shown.append(skill)
                text = longer
        size = counter.count(text + SEPARATOR)
        return Section("SKILLS", text, size, shorter)

    return shorter(min(SKILL_TOKENS, given.list_limit))


def skill_text(skill: Skill) -> str:
    """Render a skill: its name in brackets, then its lines, indented."""
    lines = [f"    {line}".rstrip() for line in skill.text.splitlines()]
    return "\n".join([f"  [{skill.name}]", *lines])


def _text(shown: Sequence[Skill], chosen: Selection, *, may_read: bool) -> str:
    parts = ["SKILLS:", *map(skill_text, shown)]
    left = [skill.name for skill in chosen.skills if skill not in shown]
    if left:
        how = " (read_skill reads them)" if may_read else ""
        parts.append(f"  no room for: {', '.join(left)}{how}")
    if chosen.missing:
        parts.append(f"  gone: {', '.join(chosen.missing)}")
    return "\n".join(parts)
