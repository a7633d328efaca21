"""The section SKILLS, which shows each skill in full or by name."""

from collections.abc import Sequence

from skein.agent.prompt.section import SEPARATOR, Section
from skein.models.workspace.skill import CORE, Skill
from skein.ports import TokenCounter
from skein.services.workspace.skill_selection import Selection

SKILLS_GIVE_WAY = 4  # the priority of goals, too; see `sections`


def skills(
    chosen: Selection, limit: int, counter: TokenCounter, *, may_read: bool
) -> Section | None:
    """Render the skills that fit, in their order, and the others by name.

    Args:
        chosen: The selected skills. `core` is always shown in full.
        may_read: Whether the agent can read the others with `read_skill`.

    Returns:
        The section; None if there is no skill.
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
