"""Which agents a message wakes: the chat's `respond` policy, and the end of a chain."""

import re
from collections.abc import Iterable, Sequence

from skein.models.chat import Chat, Membership, Message


def woken_by(
    message: Message, chat: Chat, agents: Sequence[Membership], *, max_chain_depth: int
) -> list[Membership]:
    """The agent memberships that get a run for `message`, in the order in which they are sent.

    Args:
        message: What was said; keywords and notices wake nobody.
        chat: Where; its policy decides: `every` agent but the sender, those whom the text
            `mention`s in order of appearance (all of one name), or, with `manual`, none.
        agents: The chat's active agent memberships.
        max_chain_depth: From this depth on, a message wakes nobody.
    """
    if message.kind != "text" or message.depth >= max_chain_depth or chat.respond == "manual":
        return []
    others = [agent for agent in agents if agent.member.ref != message.sender.ref]
    others.sort(key=lambda agent: agent.member.id)
    if chat.respond == "every":
        return others
    named = [(agent.member.name.casefold(), agent) for agent in others]
    called = mentions(message.text, {name for name, _ in named})
    return [agent for wanted in called for name, agent in named if name == wanted]


def mentions(text: str, names: Iterable[str]) -> list[str]:
    """The casefolded `names` that `text` mentions as `@name`, once each, in order of appearance.

    A mention is word-bounded on both sides: `me@ann.example` and `@Annabel` do not mention Ann. Of
    names that begin alike the longest counts.
    """
    longest_first = sorted(names, key=len, reverse=True)
    if not longest_first:
        return []
    pattern = rf"(?<!\w)@({'|'.join(map(re.escape, longest_first))})(?!\w)"
    return list(dict.fromkeys(re.findall(pattern, text.casefold())))
