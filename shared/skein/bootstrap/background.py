"""Background services: upkeep, summaries, memories and the due index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.part import part
from skein.bootstrap.records import OnRecord

if TYPE_CHECKING:
    from skein.agent.prompt.token_cache import RememberedTokens
    from skein.services.memory.consolidation_worker import Consolidator
    from skein.services.memory.finder import MemoryFinder
    from skein.services.memory.history import ConsolidationRequests, ReflectionViews
    from skein.services.memory.reflection_worker import Reflection
    from skein.services.outbox.due_scanner import DueScanner
    from skein.services.quotas.usage import Budget, UsageCounters
    from skein.services.summaries.renewing import Renewing
    from skein.services.summaries.upkeep import Upkeep


class Background(OnRecord):
    """Services that nobody waits for, and the parts that they share with other services."""

    @part
    def usage(self) -> UsageCounters:
        """The counters of agents' token usage by day."""
        from skein.services.quotas.usage import UsageCounters

        return UsageCounters(table=self.table, clock=self.clock, metrics=self.metrics)

    @part
    def budget(self) -> Budget:
        """The daily token budget of background work."""
        from skein.services.quotas.usage import Budget

        return Budget(
            table=self.table, clock=self.clock, metrics=self.metrics, settings=self.settings
        )

    @part
    def remembered_tokens(self) -> RememberedTokens:
        """The cache of token counts."""
        from skein.agent.prompt.token_cache import RememberedTokens

        return RememberedTokens(self.tokens, self.settings.token_cache_bytes)

    @part
    def upkeep(self) -> Upkeep:
        """The upkeep worker, which keeps lists of chats up to date."""
        from skein.services.summaries.upkeep import Upkeep

        return Upkeep(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            budget=self.budget,
            settings=self.settings,
        )

    @part
    def renewing(self) -> Renewing:
        """The service that renews agent summaries and chat summaries."""
        from skein.services.summaries.agent_summary import AgentSummaries
        from skein.services.summaries.chat_summary import ChatSummaries
        from skein.services.summaries.model import Summarizer
        from skein.services.summaries.renewing import Renewing

        summarizer = Summarizer(
            model=self.model,
            usage=self.usage,
            budget=self.budget,
            metrics=self.metrics,
            settings=self.settings,
        )
        notes = AgentSummaries(
            table=self.table, clock=self.clock, summarizer=summarizer, settings=self.settings
        )
        records = ChatSummaries(
            table=self.table, clock=self.clock, summarizer=summarizer, settings=self.settings
        )
        return Renewing(notes=notes, records=records)

    @part
    def finder(self) -> DueScanner:
        """The scanner of the due index; the tick and the finders pass the kind."""
        from skein.services.outbox.due_scanner import DueScanner

        return DueScanner(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            at_once=self.at_once,
        )

    @part
    def consolidation_finder(self) -> MemoryFinder:
        """The finder of chats that are due for consolidation."""
        from skein.services.memory.finder import MemoryFinder

        return MemoryFinder(kind="consolidation", table=self.table, finder=self.finder)

    @part
    def consolidator(self) -> Consolidator:
        """The consolidation worker."""
        from skein.services.memory.agent_consolidation import AgentConsolidation
        from skein.services.memory.chunk_commit import ChunkCommitter
        from skein.services.memory.consolidation_worker import Consolidator
        from skein.services.memory.extraction import Extractor

        recollection = AgentConsolidation(
            table=self.table,
            clock=self.clock,
            extractor=Extractor(model=self.model, usage=self.usage, settings=self.settings),
            budget=self.budget,
            tokens=self.remembered_tokens,
            book=ChunkCommitter(
                table=self.table, clock=self.clock, ids=self.ids, metrics=self.metrics
            ),
            settings=self.settings,
        )
        return Consolidator(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            recollection=recollection,
            budget=self.budget,
            settings=self.settings,
        )

    @part
    def consolidation_requests(self) -> ConsolidationRequests:
        """The service by which operators request and view consolidations."""
        from skein.services.memory.history import ConsolidationRequests

        return ConsolidationRequests(table=self.table, clock=self.clock, dispatch=self.dispatch)

    @part
    def reflection_finder(self) -> MemoryFinder:
        """The finder of agents whose journal entries are about to fade."""
        from skein.services.memory.finder import MemoryFinder

        return MemoryFinder(kind="fading", table=self.table, finder=self.finder)

    @part
    def reflection(self) -> Reflection:
        """The reflection worker, which promotes fading journal entries to core memories."""
        from skein.services.memory.reflection_worker import Reflection

        return Reflection(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            model=self.model,
            tokens=self.remembered_tokens,
            usage=self.usage,
            budget=self.budget,
            metrics=self.metrics,
            settings=self.settings,
        )

    @part
    def reflection_views(self) -> ReflectionViews:
        """The service by which operators view reflections."""
        from skein.services.memory.history import ReflectionViews

        return ReflectionViews(table=self.table, clock=self.clock)
