"""The sections of prompts: their content, why they may be shown, and when they are shortened.

Operators see `source` and `why` beside a prompt. The code that builds prompts shortens sections in
the order of `gives_way`. No person or agent may have the name of a section.
"""

from typing import NamedTuple


class SectionNote(NamedTuple):
    """Information about a section besides its text.

    Attributes:
        source: Where its content comes from.
        why: Why it may be shown in a prompt.
        gives_way: The order in which sections are shortened if a prompt is too long. The history is
            shortened first, then the sections with the lowest number. None for the history, and
            for sections that are never shortened.
    """

    source: str
    why: str
    gives_way: int | None = None


OWN = "It belongs to the agent or to Skein and holds no person's words."
READERS = "Everyone who reads this chat may read its messages."
PRESENT = "The content is open, or everyone who reads this chat was present when it was said."
ONE_PERSON = "The chat is private, and its only person is the one described."
# In the order of the prompt.
SECTIONS: dict[str, SectionNote] = {
    "IDENTITY": SectionNote("The agent's name and system prompt.", OWN, gives_way=7),
    "INSTRUCTIONS": SectionNote(
        "How to speak and how to stay silent, by the chat, the channel and the tools.", OWN
    ),
    "SKILLS": SectionNote("The skills of the active thread, in full or by name.", OWN, gives_way=5),
    "KNOWLEDGE": SectionNote(
        "The sources of the business: all of them if they fit, and otherwise, before RECALLED, the "
        "passages that match the message; or that nothing fits.",
        "The agent may use these sources, and everyone who reads this chat may see them.",
        gives_way=1,
    ),
    "USER PROFILE": SectionNote(
        "In a private direct chat, the person's record and the fields that the agent may set.",
        ONE_PERSON,
        gives_way=5,
    ),
    "CORE MEMORIES": SectionNote("The agent's core memories, newest first.", PRESENT, gives_way=6),
    "GLOBAL DOCUMENTS": SectionNote(
        "The agent's pinned documents, then those of this chat.", PRESENT, gives_way=0
    ),
    "ACTIVE THREAD": SectionNote("The active thread with its documents.", PRESENT, gives_way=0),
    "PENDING THREADS": SectionNote("The other open threads, one line each.", PRESENT, gives_way=5),
    "GOALS": SectionNote("The agent's active goals, most important first.", PRESENT, gives_way=5),
    "JOURNAL": SectionNote("The agent's journal entries, newest first.", PRESENT, gives_way=5),
    "YOUR CHATS": SectionNote(
        "The agent's 20 most recently active chats, if a tool takes ids of chats. If the agent has "
        "more, the section follows the history.",
        PRESENT,
        gives_way=1,
    ),
    "ACTIVE CHAT": SectionNote(
        "This chat's name, if neither the history nor the trigger has it; or that there is none.",
        READERS,
    ),
    "CONVERSATION": SectionNote(
        "In a direct chat, when this session began, and how: after a gap or with a reset.",
        READERS,
    ),
    "CONVERSATION SUMMARY": SectionNote(
        "The summary of the messages before the history window.", READERS, gives_way=5
    ),
    "PARTICIPANTS": SectionNote(
        "The members of this chat, then senders who have left; not for one person and one agent.",
        READERS,
        gives_way=5,
    ),
    "TODAY": SectionNote("The weekday and the date, in the time zone of NOW.", OWN),
    "CHAT HISTORY": SectionNote(
        "The messages of the history window by day, as lines or as messages of roles.", READERS
    ),
    "PICTURES": SectionNote(
        "The newest pictures of the history, if the model takes pictures; they are one message.",
        READERS,
    ),
    "LAST CONVERSATION": SectionNote(
        "In a direct chat, the summary of the person's last session, if it was in another one.",
        READERS,
        gives_way=5,
    ),
    "OTHER ACTIVE CONVERSATIONS": SectionNote(
        "The agent's summaries of chats with a message in the last six hours; in a direct chat, "
        "also of the person's three newest other chats.",
        PRESENT,
        gives_way=1,
    ),
    "BORROWED CONTEXT": SectionNote(
        "Messages of another chat that the agent asked to see, shown once.", PRESENT, gives_way=5
    ),
    "RECALLED": SectionNote(
        "Older messages of all the agent's chats that match the new ones, by chat and day.",
        PRESENT,
        gives_way=1,
    ),
    "PLANS": SectionNote("The agent's plans, the next one first.", PRESENT, gives_way=2),
    "OUTREACH": SectionNote(
        "That the agent wrote to the person of this chat for an operator, and about what, for two "
        "weeks.",
        READERS,
        gives_way=2,
    ),
    "HANDED BACK": SectionNote(
        "Who of the team held this chat, and what they told the agent, while the history begins "
        "before the return.",
        PRESENT,
        gives_way=2,
    ),
    "DONE BEFORE": SectionNote(
        "What tools that write did before this prompt, for the messages that the run answers and "
        "for those after the agent's last text: the arguments, the result and the time.",
        PRESENT,
        gives_way=3,
    ),
    "OPEN QUESTIONS": SectionNote(
        "In a direct chat, the agent's questions that the person can answer now.",
        READERS,
        gives_way=2,
    ),
    "ERRANDS": SectionNote(
        "What the agent has asked people elsewhere for this chat, without an answer yet.",
        PRESENT,
        gives_way=2,
    ),
    "ACTIVE RUNS": SectionNote("The agent's other runs that work or wait.", PRESENT, gives_way=4),
    "DESK": SectionNote("That the chat waits for a person of the team, and since when.", READERS),
    "TRIGGER": SectionNote(
        "Why the run exists: who or what, where, whom the message names, which other agents were "
        "started, and how a wait ended.",
        PRESENT,
        gives_way=6,
    ),
    "NOW": SectionNote("The time to the minute, in a time zone and in UTC.", OWN),
}
UNKNOWN = SectionNote("The agent's data.", PRESENT)
