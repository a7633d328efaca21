"""PARTICIPANTS: the legend of a chat, and the names of everyone in a prompt.

The section needs only items that are read for other sections. Members come in the order of joining,
then senders who have left. If there is no room, the ids are left out first, then the full names,
then members who sent none of the shown messages.
"""

from bisect import bisect_right
from dataclasses import replace

from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.trigger import ShownTrigger
from skein.agent.sections.your_chats import YourChats
from skein.interface.history import History
from skein.interface.names import (
    EACH,
    YOU,
    Names,
    askers,
    former_names,
    legend,
    named_member,
    participants_of,
)
from skein.interface.reading import Reading
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.interface.sources import named_in
from skein.memory.sections import Memories
from skein.models.chats.names import plain_name
from skein.planning.sections import Goals
from skein.recall.sections import RecalledMessages

PAIR = 2  # a person and an agent
USER_ID = "user_id"


def participants(given: SectionInput) -> Section | None:
    """Render the legend; None without a chat.

    In a direct chat of one person and one agent, it is rendered only if one of them was renamed.
    """
    chat, messages = given.reading.chat, given.reading.of(History).messages
    if chat is None:
        return None
    names, counter, with_ids = given.names, given.counter, given.takes(USER_ID)
    members = participants_of(chat, messages)
    renamed = any(former_names(chat, member) for member in members)
    if chat.kind == "direct" and len(members) <= PAIR and not renamed:
        return None
    senders = {message.sender.ref for message in messages}
    first = sorted(members, key=lambda each: each.ref not in {names.agent, *senders})

    def rendered(kept: int, *, ids: bool = False, full_names: bool = False) -> Section:
        shown = {member.ref for member in first[:kept]}
        listed = [member for member in members if member.ref in shown]
        entries = legend(names, chat, listed, with_ids=ids, with_full_names=full_names)
        more = f"{EACH}and {len(members) - kept} more" if kept < len(members) else ""
        text = f"PARTICIPANTS:\n  {entries}{more}"
        size = counter.count(text + SEPARATOR)
        return Section("PARTICIPANTS", text, size, shorter)

    def shorter(tokens: int) -> Section:
        whole = rendered(len(members), full_names=True)
        if whole.tokens <= tokens:
            return whole
        kept = bisect_right(
            range(1, len(members) + 1), tokens, key=lambda number: rendered(number).tokens
        )
        return rendered(max(kept, 1))

    return rendered(len(members), ids=with_ids, full_names=True).within(given.list_limit)


def names_in(reading: Reading) -> Names:
    """Return the names that a prompt shows.

    The members of the active chat come first. They are followed by the members of other chats, the
    senders of other shown messages, the people who asked for the agent's messages, the authors in
    borrowed context, and the people in the sources of memories and goals.
    """
    messages, context = reading.of(History).messages, reading.of(BorrowedItems).context
    names = Names.of(reading.agent.as_member.ref, reading.chat, messages)
    found = reading.of(ShownTrigger)
    home, message = found.home, found.message
    chats = [own.chat for own in reading.of(YourChats).listed]
    chats += [home] if home is not None else []
    formerly = {old: now for chat in chats for old, now in chat.formerly.items()}
    names = replace(names, formerly=formerly | dict(names.formerly))
    others = [member for chat in chats for member in chat.roster]
    borrowed = context.messages if context is not None else ()
    made = [*reading.of(Memories).memories, *reading.of(Goals).goals]
    return names.joined(
        [
            *others,
            *([message.sender] if message is not None else []),
            *askers(messages, names.agent, reading.destination),
            *(entry.message.sender for entry in reading.of(RecalledMessages).entries),
            *(named_member(each.sender, each.author) for each in borrowed),
            *(named_in(made) if made else ()),
        ]
    )


def speakers_in(reading: Reading) -> frozenset[str]:
    """Return the names of the agent, and of all members and senders that a prompt shows."""
    own = plain_name(reading.agent.as_member)
    return frozenset({YOU, own, *names_in(reading).known.values()})
