"""The people of a chat who are connected to the live channel when an agent answers in it.

The batch of reads for the prompt also reads their connections, if the answer can be streamed. An
answer can be streamed if it is written in text mode in the run's own chat, and the chat has no
phone line and at most 20 people.
"""

from collections.abc import Mapping
from datetime import datetime

from skein.live.models.connection import PersonConnections
from skein.models.chats.chat import Chat
from skein.models.common.storage import Item, Key
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run
from skein.services.runs.claim import PrefetchedItems

MAX_PEOPLE = 20  # of a chat with streamed answers; each frame is a push for each of them


def keys_of_listeners(run: Run, chat: Chat | None, prefetched: PrefetchedItems) -> list[Key]:
    """Return the keys of the connections of a chat's people; empty if no answer can be streamed.

    Args:
        chat: The active chat.
        prefetched: The items that were read together with the run. If the agent is missing, the
            answer is assumed to be in text mode.
    """
    if chat is None or chat.id != run.chat_id:
        return []
    agent = prefetched.get(Agent.key_of(run.tenant, run.agent_id))
    default = "text" if chat.kind == "direct" else "tools"
    if agent is not None and (agent.get("reply_mode") or default) != "text":
        return []
    if len(chat.person_ids) > MAX_PEOPLE:
        return []
    return [PersonConnections.key_of(chat.tenant, person) for person in chat.person_ids]


def found_listeners(chat: Chat | None, found: Mapping[Key, Item], now: datetime) -> tuple[str, ...]:
    """Return the ids of the people with open connections.

    Args:
        chat: The active chat.
        found: The items of `keys_of_listeners` that exist.
    """
    if chat is None:
        return ()
    keys = [PersonConnections.key_of(chat.tenant, person) for person in chat.person_ids]
    people = PersonConnections.read_each(found, keys)
    return tuple(person.user_id for person in people if person.open_at(now))
