"""USER PROFILE: the profile of a direct chat's person, if they are the only reader.

The user's record is read with the chat, because it also has the time zone of the prompt. Values are
listed as they are stored: the name, the time zone, then the others.
"""

import json
from typing import Any

from skein.interface.section import Section, SectionInput, listing
from skein.models.directory.agent import profile_field
from skein.prompts import render
from skein.services.common.quoting import quoted, quoted_id, quoted_json

NOTING = "update_profile"
MAX_VALUE = 1_000  # characters of one value; a longer value is cut to leave room for others
CUT = " [...]"


def user_profile(given: SectionInput) -> Section | None:
    """Render the person's profile, and the fields that the agent may update.

    Returns:
        The section. None if only the name is known (the history shows it) and the agent may not
        update any field.
    """
    user, agent = given.reading.person, given.reading.agent
    may_update = NOTING in agent.enabled_tools and bool(agent.profile_fields)
    if user is None or not (user.profile or user.time_zone or may_update):
        return None
    own = {"name": user.as_member.name, "time_zone": user.time_zone}
    known = own | {name: value for name, value in user.profile.items() if name not in own}
    lines = [
        f"  - {quoted_id(name)}: {_shown(value)}"
        for name, value in known.items()
        if value is not None
    ]
    if may_update:
        names = ", ".join(profile_field(quoted_id(each)) for each in agent.profile_fields)
        lines.insert(0, f"  {render('profile_hint', {'fields': names})}")
    return listing("USER PROFILE", lines, given.list_limit, given.counter)


def _shown(value: Any) -> str:
    """Render a value as JSON on one line. A long value becomes a string that is cut."""
    if isinstance(value, str):
        return quoted(value if len(value) <= MAX_VALUE else value[:MAX_VALUE] + CUT)
    whole = json.dumps(value, ensure_ascii=False)
    return quoted_json(value) if len(whole) <= MAX_VALUE else _shown(whole)
