"""Composition of reading and prompts, for the run worker and the preview."""

from skein.agent.prompt.reading import READ_SECONDS
from skein.agent.prompt.token_cache import RememberedTokens
from skein.agent.reading.cache import ContextCache
from skein.agent.reading.loader import ContextLoader
from skein.agent.reading.reader import Reader
from skein.agent.sections.builder import PromptBuilder
from skein.agent.sections.recalled import PromptRecall
from skein.bootstrap.ports import Ports
from skein.bootstrap.recall import RecallReader
from skein.services.common.circuit_breaker import CircuitBreaker, GuardedReads


class Prompting:
    """The services that read for a prompt and build the prompt.

    A circuit breaker guards these reads: an agent can answer with a degraded context when they fail
    or are slow. All other reads decide whether an action is allowed, so no circuit breaker skips
    them.

    Attributes:
        recall_reader: The service that finds old messages, built at its first use.
        context_cache: The cache of items from which prompts are built.
        reader: The reader of the items from which prompts are built.
        context_loader: The loader of readings, which falls back to a degraded context after a
            time-out.
        remembered_tokens: The cache of token counts.
    """

    def __init__(self, ports: Ports) -> None:
        settings = ports.settings
        self.recall_reader = RecallReader(ports)
        breaker = CircuitBreaker(
            "table reads",
            clock=ports.clock,
            metrics=ports.metrics,
            slow_seconds=READ_SECONDS,
        )
        self.context_cache = ContextCache(clock=ports.clock, metrics=ports.metrics)
        self.reader = Reader(
            table=GuardedReads(ports.table, breaker),
            cache=self.context_cache,
            clock=ports.clock,
            settings=settings,
            recall=PromptRecall(
                recall=lambda: self.recall_reader.recall,
                clock=ports.clock,
                metrics=ports.metrics,
                settings=settings,
            ),
        )
        self.context_loader = ContextLoader(
            reader=self.reader,
            table=ports.table,
            clock=ports.clock,
            metrics=ports.metrics,
            settings=settings,
        )
        self.remembered_tokens = RememberedTokens(ports.tokens)
        self.prompt_builder = PromptBuilder(tokens=self.remembered_tokens, settings=settings)
