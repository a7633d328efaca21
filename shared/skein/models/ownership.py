"""Things that an agent owns, who may be shown and change them, and the ids of effects."""

import hashlib
from datetime import datetime, timedelta

from skein.models.audience import OPEN, Audience, may_change, may_show
from skein.models.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.storage import Key, SortKeyPrefix

MAX_KEPT = 200  # active goals, and as many plans, of one partition, with those that are hidden
EFFECT = SortKeyPrefix("EFFECT#")
EFFECT_KEPT = timedelta(days=30)  # longer than any run may be tried


def owned_partition(tenant: str, agent_id: str, scope: str | None) -> str:
    """Return the partition key of what an agent owns: openly, or for one private audience.

    `scope` is None for open things, `user:<id>` for a direct chat's person and `chat:<id>` for
    another private chat.
    """
    agent = f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"
    return agent if scope is None else f"{agent}#AUD#{key_part(scope)}"


def scopes_at(scope: str | None) -> tuple[str | None, ...]:
    """Which of an agent's partitions are looked into at a place: the open one, then its own."""
    return (None,) if scope is None else (None, scope)


def private_scope(*, user_id: str | None = None, chat_id: str | None = None) -> str | None:
    """The scope of a direct chat's person, or of another private chat; None for open things.

    Raises:
        ValueError: Both are given.
    """
    if user_id is not None and chat_id is not None:
        raise ValueError("a scope is a person's or a chat's")
    if user_id is not None:
        return f"user:{user_id}"
    return None if chat_id is None else f"chat:{chat_id}"


class Owner(Value):
    """On whose behalf an agent comes to own something: the place where it is made.

    Its fields are those of `Owned`.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    audience: Audience = OPEN
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None

    @property
    def reach(self) -> "Reach":
        """What is already in the same partition, whoever may be shown it."""
        return Reach(tenant=self.tenant, agent_id=self.agent_id, scopes=(self.scope,))


class Reach(Value):
    """What of an agent's things somebody can get at.

    Attributes:
        scopes: The partitions to look into; see `owned_partition`.
        place: Where it is shown, by which `may_show` decides; None for operators, who see all.
        content: The audience of everything that a change is made from; None if it is everybody at
            `place`. Operators may change all.
    """

    tenant: Tenant
    agent_id: Identifier
    scopes: tuple[str | None, ...] = (None,)
    place: Audience | None = None
    content: Audience | None = None

    def shows(self, thing: "Owned") -> bool:
        """Whether `thing` may be shown there."""
        return self.place is None or may_show(thing.audience, self.place)

    def changes(self, thing: "Owned") -> bool:
        """Whether `thing` may be changed or ended from there."""
        content = self.content or self.place
        return content is None or may_change(content, thing.audience)


class Owned(Stored):
    """Something an agent owns, with where it comes from.

    Attributes:
        scope: Which of the agent's partitions holds it; see `owned_partition`.
        audience: Who was there when it was made, and so may be shown it.
        source_chat_id: The chat in which it was made; None by API or without a chat.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    audience: Audience
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None
    created_at: Instant


def effect_id(*parts: str | int) -> str:
    """An id that is the same whenever the same effect is carried out again, e.g. by a retry."""
    text = "\x1f".join(map(str, parts))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:26]


def effect_key(tenant: str, agent_id: str, scope: str | None, effect: str) -> Key:
    """Return the key of the mark that an effect has been carried out, with what came of it."""
    return effect_key_in(owned_partition(tenant, agent_id, scope), effect)


def effect_kept_until(now: datetime) -> int:
    """When the mark of an effect that is carried out now goes, in seconds since 1970."""
    return int((now + EFFECT_KEPT).timestamp())


def effect_key_in(partition: str, effect: str) -> Key:
    """Return the key of such a mark in any partition."""
    return Key(partition, f"{EFFECT}{key_part(effect)}")
