"""The composition root: the only place where services are connected to adapters.

Each part is built at its first use, and its modules are imported then. So a webhook never pays for
agents or for the model's client. The imports at the top of these modules are for the type checker
only. A function preloads the parts that it always needs (`preload`). A test, or the local stack,
passes its own parts: `build_app(settings, model=..., clock=...)`.
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
        """The service that starts runs on a person's request."""
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
        """The tick, which sends due jobs and fires due plans."""
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
        """The service for webhook services, which trigger agents."""
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
        """The sender of SMS deliveries."""
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
        """The service for chats, their members and their settings."""
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
    """Build the app from settings and adapters.

    Args:
        settings: The settings of this deployment.
        overrides: Ports to use instead of the real adapters, by the names in `PORTS`.

    Raises:
        TypeError: An override's name is not in `PORTS`.
    """
    unknown = overrides.keys() - PORTS
    if unknown:
        raise TypeError(f"no such port: {', '.join(sorted(unknown))}")
    app = App(settings)
    vars(app).update(overrides)  # `part` stores built parts there, too
    return app


def parts() -> tuple[str, ...]:
    """Return the names of all parts, without ports."""
    made = (name for name in dir(App) if isinstance(getattr(App, name), part))
    return tuple(name for name in made if name not in {*PORTS, "aws"})


def preload(*names: str) -> None:
    """Import the modules of parts and ports while Lambda starts a function.

    Lambda starts containers ahead of need, and with more CPU than they get later. So a function
    preloads the modules that every event needs; other modules are imported by the first event that
    needs them. Preloading opens no connection and reads no setting: the parts are built without
    ports.

    Args:
        names: The names of parts and ports, as in `App`. The ports that every function needs
            (`EVERYBODYS`) are loaded, too.

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
    """The state that one Lambda container, or one test, keeps between invocations."""

    app: App | None = None
    building: Lock = Lock()


def app() -> App:
    """Return the container's app; it is built once, from the environment, at the first call."""
    if _Container.app is None:
        with _Container.building:
            if _Container.app is None:
                _Container.app = build_app(Settings.from_environment(os.environ))
    return _Container.app


def use(replacement: App | None) -> None:
    """Replace the app that handlers use; None restores the app built from the environment."""
    _Container.app = replacement
