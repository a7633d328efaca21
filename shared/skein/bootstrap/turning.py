"""Services for runs, prompts and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.doors import Doors
from skein.bootstrap.part import part
from skein.bootstrap.privacy import Privacy

if TYPE_CHECKING:
    from skein.agent.preview import Preview
    from skein.agent.prompt.builder import PromptBuilder
    from skein.agent.reading.cache import ContextCache
    from skein.agent.reading.loader import ContextLoader
    from skein.agent.reading.reader import Reader
    from skein.agent.tools.context import ToolServices
    from skein.agent.training_export import Training
    from skein.agent.turn import Turns
    from skein.services.replies.user_notices import Apologies
    from skein.services.runs.activations import Activations
    from skein.services.runs.lease import RunLeases


class Turning(Doors, Privacy):
    """The services for runs, prompts and tools."""

    @part
    def leases(self) -> RunLeases:
        """The service that claims runs and postpones claimed ones."""
        from skein.services.runs.lease import RunLeases

        return RunLeases(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            completion=self.completion,
            settings=self.settings,
        )

    @part
    def activations(self) -> Activations:
        """The service that records and rebuilds the activations of claimed runs."""
        from skein.services.runs.activations import Activations

        return Activations(table=self.table, clock=self.clock, metrics=self.metrics)

    @part
    def context_cache(self) -> ContextCache:
        """The cache of items from which prompts are built."""
        from skein.agent.reading.cache import ContextCache

        return ContextCache(
            clock=self.clock,
            metrics=self.metrics,
            max_bytes=self.settings.context_cache_bytes,
        )

    @part
    def reader(self) -> Reader:
        """The reader of the items from which prompts are built."""
        from skein.agent.reading.reader import Reader

        return Reader(
            table=self.context_table,
            cache=self.context_cache,
            clock=self.clock,
            settings=self.settings,
        )

    @part
    def contexts(self) -> ContextLoader:
        """The loader of readings, which falls back to a degraded context after a time-out."""
        from skein.agent.reading.loader import ContextLoader

        return ContextLoader(
            reader=self.reader,
            table=self.table,
            clock=self.clock,
            metrics=self.metrics,
            settings=self.settings,
        )

    @part
    def context(self) -> PromptBuilder:
        """The prompt builder."""
        from skein.agent.prompt.builder import PromptBuilder

        return PromptBuilder(tokens=self.remembered_tokens, settings=self.settings)

    @part
    def preview(self) -> Preview:
        """The preview of prompts for operators."""
        from skein.agent.preview import Preview

        return Preview(
            table=self.table, clock=self.clock, contexts=self.contexts, context=self.context
        )

    @part
    def training(self) -> Training:
        """The export of completed threads as training units."""
        from skein.agent.training_export import Training

        return Training(threads=self.threads, run_views=self.run_views)

    @part
    def tool_services(self) -> ToolServices:
        """The services that agents' tools may use."""
        from skein.agent.tools.context import ToolServices
        from skein.services.chats.own_chats import OwnChats
        from skein.services.directory.users import Profiles
        from skein.services.memory.search import MemorySearch
        from skein.services.replies.ask_and_wait import Asking
        from skein.services.runs.queries import OwnRuns

        asking = Asking(
            table=self.table,
            clock=self.clock,
            chats=self.chats,
            completion=self.completion,
            dispatch=self.dispatch,
            settings=self.settings,
        )
        return ToolServices(
            clock=self.clock,
            chats=self.chats,
            own_chats=OwnChats(table=self.table),
            asking=asking,
            completion=self.completion,
            own_runs=OwnRuns(table=self.table, clock=self.clock),
            goals=self.goals,
            plans=self.plans,
            memories=self.memories,
            memory_search=MemorySearch(table=self.table, clock=self.clock),
            profiles=Profiles(table=self.table, clock=self.clock),
            documents=self.documents,
            skills=self.skills,
            threads=self.threads,
        )

    @part
    def apologies(self) -> Apologies:
        """The service that tells a person, once, that the answer is late."""
        from skein.services.replies.user_notices import Apologies

        return Apologies(
            chats=self.chats,
            clock=self.clock,
            metrics=self.metrics,
            settings=self.settings,
        )

    @part
    def turns(self) -> Turns:
        """The service that the run worker calls for each job."""
        from skein.agent.executor import Actor
        from skein.agent.turn import Turns
        from skein.agent.turn_steps import Answers
        from skein.services.replies.final_message import FinalMessages
        from skein.services.runs.concurrency_limit import ConcurrencyLimit

        return Turns(
            table=self.table,
            leases=self.leases,
            activations=self.activations,
            completion=self.completion,
            permits=ConcurrencyLimit(table=self.table, clock=self.clock),
            contexts=self.contexts,
            context=self.context,
            actor=Actor(self.tool_services),
            answers=Answers(
                model=self.model,
                clock=self.clock,
                metrics=self.metrics,
                settings=self.settings,
            ),
            final_messages=FinalMessages(chats=self.chats, completion=self.completion),
            apologies=self.apologies,
            usage=self.usage,
            spending=self.spending,
            notices=self.notices,
            clock=self.clock,
            settings=self.settings,
        )
