"""The services that tools may use, and nothing else."""

from dataclasses import dataclass

from skein.ports import Clock, Table
from skein.services.asking import Asking
from skein.services.chats import Chats
from skein.services.documents import Documents
from skein.services.endings import Endings
from skein.services.goals import Goals
from skein.services.memories import Memories
from skein.services.memory_search import MemorySearch
from skein.services.own_runs import OwnRuns
from skein.services.plans import Plans
from skein.services.profiles import Profiles
from skein.services.skills import Skills
from skein.services.threads import Threads


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
