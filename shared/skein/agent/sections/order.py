"""The order of the sections in a prompt, and the items that they need.

Sections are ordered from stable to volatile. Consecutive prompts then share a long prefix, which
the provider can cache. The history comes between the stable and the volatile sections.
"""

from collections.abc import Callable, Mapping

from skein.agent.sections.basics import active_chat, conversation, identity, now, today
from skein.agent.sections.borrowed import BorrowedItems, borrowed_context
from skein.agent.sections.instructions import instructions
from skein.agent.sections.open_questions import OpenQuestions, open_questions
from skein.agent.sections.other_conversations import (
    OtherSummaries,
    last_session,
    other_conversations,
)
from skein.agent.sections.participants import participants
from skein.agent.sections.trigger import ShownTrigger, trigger
from skein.agent.sections.user_profile import user_profile
from skein.agent.sections.your_chats import (
    YourChats,
    active_runs,
    all_your_chats,
    your_newest_chats,
)
from skein.desk.sections import Briefings, desk, handed_back
from skein.errands.sections import Errands, errands
from skein.interface.history import History, conversation_summary
from skein.interface.media import MessageMedia
from skein.interface.reading import SectionItems, SectionLoader
from skein.interface.section import Section, SectionInput
from skein.knowledge.sections import Knowledge, PromptKnowledge, knowledge, knowledge_whole
from skein.memory.sections import Memories, core_memories, journal
from skein.outreach.sections import outreach
from skein.own_tools.items import OwnToolItems
from skein.own_tools.sections import RecordedCalls, done_before
from skein.planning.sections import Goals, Plans, goals, plans
from skein.recall.sections import PromptRecall, RecalledMessages, recalled
from skein.workspace.sections.documents import Documents, global_documents
from skein.workspace.sections.skills import Skills, skills
from skein.workspace.sections.threads import Threads, active_thread, pending_threads

STABLE: tuple[Callable[[SectionInput], Section | None], ...] = (
    identity,
    instructions,
    skills,
    knowledge_whole,
    user_profile,
    core_memories,
    global_documents,
    active_thread,
    pending_threads,
    goals,
    journal,
    all_your_chats,
    active_chat,
    conversation,
    conversation_summary,
    participants,
    today,
)
VOLATILE: tuple[Callable[[SectionInput], Section | None], ...] = (
    your_newest_chats,
    last_session,
    other_conversations,
    borrowed_context,
    knowledge,
    recalled,
    plans,
    open_questions,
    errands,
    active_runs,
    outreach,
    desk,
    handed_back,
    done_before,
    trigger,
    now,
)
NEEDS: Mapping[Callable[[SectionInput], Section | None], type[SectionItems]] = {
    knowledge_whole: Knowledge,
    knowledge: Knowledge,
    core_memories: Memories,
    journal: Memories,
    global_documents: Documents,
    active_thread: Threads,
    pending_threads: Threads,
    goals: Goals,
    plans: Plans,
    last_session: OtherSummaries,
    other_conversations: OtherSummaries,
    borrowed_context: BorrowedItems,
    recalled: RecalledMessages,
    open_questions: OpenQuestions,
    errands: Errands,
    handed_back: Briefings,
    done_before: RecordedCalls,
}
"""The kind of items that each section renders. Without such items, the section is skipped."""
IN_CHAT: Mapping[Callable[[SectionInput], Section | None], str] = {
    desk: "desk",
    outreach: "contact_order",
}
"""The attribute of the active chat that each section renders. If unset, the section is skipped."""
ITEMS: tuple[type[SectionItems], ...] = (
    History,
    MessageMedia,
    ShownTrigger,
    Memories,
    Goals,
    Plans,
    Threads,
    Documents,
    Skills,
    YourChats,
    OtherSummaries,
    BorrowedItems,
    OpenQuestions,
    Errands,
    Briefings,
    OwnToolItems,
    RecordedCalls,
    Knowledge,
)
LOADERS: Mapping[type[SectionItems], type[SectionLoader]] = {
    RecalledMessages: PromptRecall,
    Knowledge: PromptKnowledge,
}
"""The services that load the kinds of items which no key or query finds."""
HEADS = tuple(each.head for each in ITEMS if each.head is not None)
"""The head items of the kinds: a tenant without a head item has no items of that kind."""


def _overriding(method: str) -> tuple[type[SectionItems], ...]:
    """Return the kinds of items that override a method of `SectionItems`."""
    return tuple(each for each in ITEMS if method in vars(each))


GUESSING, NAMING, QUERYING = map(_overriding, ("guess", "keys", "queries"))
"""The kinds of items that are read with the run, by key, and by a query."""
