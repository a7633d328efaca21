"""The composition root: the only place where a service meets an adapter.

Every part is built when it is first asked for, and what it is made of is loaded then, so a webhook
never pays for agents, let alone for the model's client; at the top of these modules stands what the
type checker sees. What a function is sure to need it loads ahead (`preload`). A test, or the local
stack, gives some parts itself: `build_app(settings, model=..., clock=...)`.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from skein.bootstrap.outside import ADAPTERS, EVERYBODYS, PORTS, load_adapter
from skein.bootstrap.part import part
from skein.bootstrap.turning import Turning
from skein.settings import Settings

if TYPE_CHECKING:
    from skein.services.chats.administration import ChatAdministration
    from skein.services.delivery.sender import SmsSender
    from skein.services.inbound.service_webhooks import WebhookServices
    from skein.services.outbox.tick import Tick
    from skein.services.runs.manual_trigger import Respond


class App(Turning):
    """All of Skein, wired: services built from ports."""

    @part
    def respond(self) -> Respond:
        """Runs started by hand."""
        from skein.services.runs.manual_trigger import Respond

        return Respond(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @part
    def tick(self) -> Tick:
        """Sends again, or fires, what is due."""
        from skein.services.outbox.tick import Tick
        from skein.services.planning.firing import Firing

        return Tick(
            table=self.table,
            finder=self.finder,
            metrics=self.metrics,
            firing={
                "plan": Firing(table=self.table, metrics=self.metrics, settings=self.settings).fire,
                "merge": self.numbers.carry_on,
            },
        )

    @part
    def sources(self) -> WebhookServices:
        """Services outside that wake agents."""
        from skein.services.inbound.service_webhooks import WebhookServices

        return WebhookServices(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @part
    def deliveries(self) -> SmsSender:
        """Texts on their way out."""
        from skein.services.delivery.sender import SmsSender

        return SmsSender(
            table=self.table,
            clock=self.clock,
            sms=self.sms,
            dispatch=self.dispatch,
            metrics=self.metrics,
            settings=self.settings,
        )

    @part
    def chat_admin(self) -> ChatAdministration:
        """Who is in which chat, and how it behaves."""
        from skein.services.chats.administration import ChatAdministration

        return ChatAdministration(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            limits=self.limits,
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
    vars(app).update(overrides)  # where a part is kept once it is built
    return app


def parts() -> tuple[str, ...]:
    """The names of all parts, ports left out."""
    made = (name for name in dir(App) if isinstance(getattr(App, name), part))
    return tuple(name for name in made if name not in {*PORTS, "aws"})


def preload(*names: str) -> None:
    """Load what parts and ports are made of, as a function does while Lambda starts it.

    Lambda starts containers ahead of need, and with more processor than they pay for later, so what
    every event of a function needs is loaded here, and what only some need at the first of those.
    Nothing is connected, and no setting is read: the parts are wired with no ports behind them.

    Args:
        names: Of parts and ports, as `App` has them; the ports that everything needs are loaded,
            too.

    Raises:
        AttributeError: There is no such part.
    """
    loose = build_app(Settings(), **dict.fromkeys(PORTS))
    for name in (*EVERYBODYS, *names):
        if name in ADAPTERS:
            load_adapter(name)
        else:
            getattr(loose, name)


class _Container:
    """What one Lambda container, or one test, holds on to between invocations."""

    app: App | None = None
    building: Lock = Lock()


def app() -> App:
    """The container's app, built once from the environment when it is first asked for."""
    if _Container.app is None:
        with _Container.building:
            if _Container.app is None:
                _Container.app = build_app(Settings.from_environment(os.environ))
    return _Container.app


def use(replacement: App | None) -> None:
    """Let handlers use `replacement` from now on; None goes back to the environment's."""
    _Container.app = replacement
