"""Determine the insiders of a run: the people in the chats that the run works for.

A run works for the chat that started it, the chats that its plan or service names, and the chats in
which it has waited. All other people are outsiders, including people who have left these chats.
"""

from collections.abc import Iterable

from skein.models.chats.chat import Chat
from skein.models.common.storage import Key
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import Insiders, digest_of


def chats_of_insiders(run: Run) -> tuple[str, ...]:
    """Return the ids of the chats whose people are insiders of a run, without duplicates."""
    trigger = run.trigger
    known = (
        run.own_chat_id,
        trigger.plan.chat_id if trigger.plan is not None else None,
        trigger.service.chat_id if trigger.service is not None else None,
        *run.waited_in,
    )
    return tuple(dict.fromkeys(each for each in known if each is not None))


def keys_of_insiders(run: Run, chat: Chat | None) -> list[Key]:
    """Return the keys of the chats whose people are insiders, without the active chat `chat`."""
    here = chat.id if chat is not None else None
    return [Chat.key_of(run.tenant, each) for each in chats_of_insiders(run) if each != here]


def holds_insiders_alone(run: Run, agent: Agent, readers: Audience, *, writes: bool) -> bool:
    """Return whether an activation must not contain words of outsiders."""
    unasked = run.trigger.type in {"plan", "service"}
    return unasked or leaves_out_outsiders(agent, readers, writes=writes)


def leaves_out_outsiders(agent: Agent, readers: Audience, *, writes: bool) -> bool:
    """Return whether an agent's prompts for these readers leave out words of outsiders.

    If the agent's setting `outsiders` is not set, the words are left out if the agent may call a
    writing tool of the tenant.

    Args:
        writes: Whether the agent may call a writing tool of the tenant.
    """
    left_out = agent.outsiders == "none" if agent.outsiders is not None else writes
    return left_out and not readers.open


def holds_words_of_readers(run: Run, agent: Agent) -> bool:
    """Return whether an activation may contain outsiders' words that its readers know anyway."""
    return agent.outsiders is None and run.trigger.type not in {"plan", "service"}


def members_of(chat: Chat | None) -> frozenset[str] | None:
    """Return the current and former ids of a private chat's people; None for any other chat.

    A prompt shows only few words of strangers (`few_of_strangers`), but any number of words of the
    people of its chat.
    """
    if chat is None or chat.readers.open:
        return None
    people = chat.person_ids
    return frozenset((*people, *(old for old, now in chat.formerly.items() if now in people)))


def insiders_of(
    run: Run, chats: Iterable[Chat | None], *, alone: bool = False, of_readers: bool = False
) -> Insiders:
    """Return the insiders of a run, under their current and former ids.

    Args:
        chats: The chats of the run. From any further chats, only the former ids of insiders are
            taken.
    """
    own, known = chats_of_insiders(run), [chat for chat in chats if chat is not None]
    people = {person for chat in known if chat.id in own for person in chat.person_ids}
    return Insiders(digests=_digests(people, known), alone=alone, of_readers=of_readers)


def insiders_at(chat: Chat, *, alone: bool = False) -> Insiders:
    """Return the insiders of work for one chat, under their current and former ids."""
    return Insiders(digests=_digests(set(chat.person_ids), [chat]), alone=alone)


def _digests(people: set[str], chats: Iterable[Chat]) -> frozenset[str]:
    former = {old for chat in chats for old, now in chat.formerly.items() if now in people}
    return frozenset(map(digest_of, people | former))
