"""The composition root: the only place where a service meets an adapter.

Every part is built when it is first asked for, so a webhook never pays for the model's client. A
test, or the local stack, gives some parts itself: `build_app(settings, model=..., clock=...)`.
"""

import os
from functools import cached_property

from skein.agent.answers import Answers
from skein.agent.cache import ContextCache
from skein.agent.context import ContextBuilder
from skein.agent.contexts import Contexts
from skein.agent.preview import Preview
from skein.agent.reading import Reader
from skein.agent.tools.acting import Actor
from skein.agent.tools.desk import Desk
from skein.agent.training import Training
from skein.agent.turn import Turns
from skein.bootstrap.doors import Doors
from skein.bootstrap.outside import PORTS
from skein.bootstrap.privacy import Privacy
from skein.services.apologies import Apologies
from skein.services.asking import Asking
from skein.services.delivery import Deliveries
from skein.services.due import Tick
from skein.services.firing import Firing
from skein.services.last_words import LastWords
from skein.services.memory_search import MemorySearch
from skein.services.own_runs import OwnRuns
from skein.services.permits import Permits
from skein.services.profiles import Profiles
from skein.services.respond import Respond
from skein.services.rollout import Rollout
from skein.services.rooms import Rooms
from skein.services.runs import Runs
from skein.services.sources import Sources
from skein.settings import Settings


class App(Doors, Privacy):
    """All of Skein, wired: services built from ports."""

    @cached_property
    def runs(self) -> Runs:
        """The life of runs."""
        return Runs(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            endings=self.endings,
            settings=self.settings,
        )

    @cached_property
    def respond(self) -> Respond:
        """Runs started by hand."""
        return Respond(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def context_cache(self) -> ContextCache:
        """What prompts were made from."""
        return ContextCache(
            clock=self.clock,
            metrics=self.metrics,
            max_bytes=self.settings.context_cache_bytes,
        )

    @cached_property
    def reader(self) -> Reader:
        """Reads what prompts are made from."""
        return Reader(
            table=self.context_table,
            cache=self.context_cache,
            clock=self.clock,
            settings=self.settings,
        )

    @cached_property
    def contexts(self) -> Contexts:
        """Reads them in time, or makes do with less."""
        return Contexts(
            reader=self.reader,
            rollout=Rollout(flags=self.flags, settings=self.settings),
            table=self.table,
            clock=self.clock,
            metrics=self.metrics,
            settings=self.settings,
        )

    @cached_property
    def context(self) -> ContextBuilder:
        """Makes prompts."""
        return ContextBuilder(tokens=self.remembered_tokens, settings=self.settings)

    @cached_property
    def preview(self) -> Preview:
        """Prompts for operators to look at."""
        return Preview(
            table=self.table, clock=self.clock, contexts=self.contexts, context=self.context
        )

    @cached_property
    def training(self) -> Training:
        """Completed threads as units of training."""
        return Training(threads=self.threads, run_views=self.run_views)

    @cached_property
    def desk(self) -> Desk:
        """What agents' tools may use."""
        asking = Asking(
            table=self.table,
            clock=self.clock,
            chats=self.chats,
            endings=self.endings,
            dispatch=self.dispatch,
            settings=self.settings,
        )
        return Desk(
            table=self.table,
            clock=self.clock,
            chats=self.chats,
            asking=asking,
            endings=self.endings,
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

    @cached_property
    def apologies(self) -> Apologies:
        """Tells people on SMS, once, that their answer is late."""
        return Apologies(
            chats=self.chats,
            breaker=self.model_breaker,
            clock=self.clock,
            metrics=self.metrics,
            settings=self.settings,
        )

    @cached_property
    def turns(self) -> Turns:
        """What the run worker does."""
        return Turns(
            table=self.table,
            runs=self.runs,
            endings=self.endings,
            permits=Permits(table=self.table, clock=self.clock),
            contexts=self.contexts,
            context=self.context,
            actor=Actor(self.desk),
            answers=Answers(
                model=self.guarded_model,
                clock=self.clock,
                metrics=self.metrics,
                settings=self.settings,
            ),
            last_words=LastWords(chats=self.chats, endings=self.endings),
            apologies=self.apologies,
            usage=self.usage,
            spending=self.spending,
            notices=self.notices,
            clock=self.clock,
            settings=self.settings,
        )

    @cached_property
    def tick(self) -> Tick:
        """Sends again, or fires, what is due."""
        return Tick(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            firing={
                "plan": Firing(table=self.table, settings=self.settings).fire,
                "merge": self.numbers.carry_on,
            },
            at_once=self.at_once,
        )

    @cached_property
    def sources(self) -> Sources:
        """Services outside that wake agents."""
        return Sources(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def deliveries(self) -> Deliveries:
        """Texts on their way out."""
        return Deliveries(
            table=self.table,
            clock=self.clock,
            sms=self.guarded_sms,
            dispatch=self.dispatch,
            metrics=self.metrics,
            settings=self.settings,
        )

    @cached_property
    def rooms(self) -> Rooms:
        """Who is in which chat, and how it behaves."""
        return Rooms(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )


def build_app(settings: Settings, **overrides: object) -> App:
    """Wire Skein.

    Args:
        settings: Of this deployment.
        overrides: Ports, by the names in `PORTS`, to be used instead of the adapters.

    Raises:
        TypeError: An override names no port.
    """
    unknown = overrides.keys() - PORTS
    if unknown:
        raise TypeError(f"no such port: {', '.join(sorted(unknown))}")
    app = App(settings)
    vars(app).update(overrides)  # where cached_property looks before it builds
    return app


class _Container:
    """What one Lambda container, or one test, holds on to between invocations."""

    app: App | None = None


def app() -> App:
    """The container's app, built from the environment when it is first asked for."""
    if _Container.app is None:
        _Container.app = build_app(Settings.from_environment(os.environ))
    return _Container.app


def use(replacement: App | None) -> None:
    """Let handlers use `replacement` from now on; None goes back to the environment's."""
    _Container.app = replacement
