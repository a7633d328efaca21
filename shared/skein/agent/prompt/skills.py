"""The section SKILLS: how the agent goes about its work, each skill whole or by name."""

from collections.abc import Sequence

from skein.agent.prompt.section import SEPARATOR, Section
from skein.models.skill import CORE, Skill
from skein.ports import TokenCounter
from skein.services.workspace.skill_selection import Selection

SKILLS_GIVE_WAY = 4  # with the goals; see `sections`


def skills(
    chosen: Selection, limit: int, counter: TokenCounter, *, may_read: bool
) -> Section | None:
    """As many of the skills as there is room for, in their order; the others by name.

    Args:
        chosen: The skills of what the agent is at; `core` is shown whatever the limit.
        limit: How many tokens there are for it.
        counter: Counts exactly.
        may_read: The agent can read the others, too.

    Returns:
        None if there is no skill.
    """
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
        return Section("SKILLS", text, size, SKILLS_GIVE_WAY, shorter)

    return shorter(limit)


def skill_text(skill: Skill) -> str:
    """A skill as it is shown: its name, then its lines, each behind spaces."""
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
