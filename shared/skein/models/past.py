"""Where it stands in which chats somebody was: only erasures and exports ask."""

from typing import Any

from skein.models.base import key_part
from skein.models.chat import Membership


def past_relation(tenant: str, user_id: str) -> str:
    """The `gsi1` partition of the chats that a person has left."""
    return f"{key_part(tenant)}#LEFT#user#{key_part(user_id)}"


def listed_as_left(place: Membership) -> dict[str, Any]:
    """The index attributes of a place that has been left; an agent's is listed no more."""
    if place.member.kind == "agent":
        return {"gsi1pk": None, "gsi1sk": None}
    relation = past_relation(place.tenant, place.member.id)
    return {"gsi1pk": relation, "gsi1sk": f"-#{place.chat_id}"}
