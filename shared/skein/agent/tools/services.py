"""The services that tools may use, and nothing else."""

from dataclasses import dataclass

from skein.ports import Clock, Table
from skein.services.chats.post_message import Chats
from skein.services.directory.users import Profiles
from skein.services.memory.memories import Memories
from skein.services.memory.search import MemorySearch
from skein.services.planning.goals import Goals
from skein.services.planning.plans import Plans
from skein.services.replies.ask_and_wait import Asking
from skein.services.runs.completion import Endings
from skein.services.runs.queries import OwnRuns
from skein.services.workspace.documents import Documents
from skein.services.workspace.skills import Skills
from skein.services.workspace.threads import Threads


@dataclass(frozen=True, slots=True)
class Desk:
    """What lies within an agent's reach while it works."""

    table: Table
    clock: Clock
    chats: Chats
    asking: Asking
    endings: Endings
    own_runs: OwnRuns
    goals: Goals
    plans: Plans
    memories: Memories
    memory_search: MemorySearch
    profiles: Profiles
    documents: Documents
    skills: Skills
    threads: Threads
