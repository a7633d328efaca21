"""The widgets of a tenant: create, list, change and delete them, and find the one of a web page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.errors import ConditionFailed, Conflict, Forbidden, NotFound, Unprocessable
from skein.models.common.storage import Delete, Is, Missing, Put, Write
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.directory.agents import agent_is_there
from skein.settings import Settings
from skein.web_chat.limits import pool_write
from skein.web_chat.models.widget import (
    LOCAL_ORIGIN,
    MAX_WIDGETS,
    PlacedWidget,
    Widget,
    widgets_relation,
)

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.web_chat.api import NewWidget, WidgetChange

NO_WIDGET = "widget not found"
FOREIGN_PAGE = "the widget does not belong to this page's origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Widgets:
    """The service of a tenant's widgets."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    def create(self, tenant: str, new: "NewWidget") -> Widget:
        """Create a widget.

        Raises:
            Conflict: The tenant has too many widgets.
            Unprocessable: The agent does not exist, or an origin is allowed only on a local stack.
        """
        if len(self.list(tenant, limit=MAX_WIDGETS).items) >= MAX_WIDGETS:
            raise Conflict(f"a tenant has at most {MAX_WIDGETS} widgets; delete one first")
        widget = Widget(
            tenant=tenant,
            id=f"wgt_{self.ids.ulid()}",
            created_at=self.clock.now(),
            **{name: getattr(new, name) for name in PlacedWidget.model_fields},
        )
        self._check(widget.origins)
        self._write(Put(widget.key, widget.to_item(), Missing()), widget, widget.agent_id)
        return widget

    def get(self, tenant: str, widget_id: str) -> Widget:
        """Return a widget.

        Raises:
            NotFound: There is no such widget in this tenant.
        """
        known = Widget.read(self.table, Widget.key_of(widget_id))
        if known is None or known.tenant != tenant:
            raise NotFound(NO_WIDGET)
        return known

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Widget]:
        """List a page of a tenant's widgets, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table, widgets_relation(tenant), Widget, of="widgets", limit=limit, cursor=cursor
        )

    def change(self, tenant: str, widget_id: str, change: "WidgetChange") -> Widget:
        """Change some fields of a widget. If the consent text changes, visitors must agree again.

        Raises:
            NotFound: There is no such widget in this tenant.
            Unprocessable: The agent does not exist, or an origin is allowed only on a local stack.
        """
        given = change.given
        self._check(given.get("origins", ()))

        def attempt() -> Widget:
            widget = self.get(tenant, widget_id)
            values = dict(given)
            if "consent" in given and given["consent"] != widget.consent:
                values["consent_version"] = widget.consent_version + 1
            if not values:
                return widget
            revised, write = revise(widget, values)
            self._write(write, revised, given.get("agent_id"))
            return revised

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, widget_id: str) -> None:
        """Delete a widget. Its visits end at once; their chats stay.

        Raises:
            NotFound: There is no such widget in this tenant.
        """
        widget = self.get(tenant, widget_id)
        try:
            pool = Delete(pool_write(widget, self.settings).key)
            self.table.transact([Delete(widget.key, Is("tenant", tenant)), pool])
        except ConditionFailed as failure:
            raise NotFound(NO_WIDGET) from failure

    def on_page(self, widget_id: str, origin: str | None) -> Widget:
        """Return the widget for a web page of this origin.

        Raises:
            NotFound: The widget does not exist or is turned off, or the deployment has no web chat.
            Forbidden: The widget is not for pages of this origin.
        """
        if not self.settings.web_chat:
            raise NotFound("web chat isn't set up in this deployment")
        widget = Widget.read(self.table, Widget.key_of(widget_id))
        if widget is None or not widget.enabled:
            raise NotFound(NO_WIDGET)
        if origin not in widget.origins:
            raise Forbidden(FOREIGN_PAGE)
        return widget

    def _check(self, origins: Sequence[str]) -> None:
        if not self.settings.local and any(map(LOCAL_ORIGIN.fullmatch, origins)):
            raise Unprocessable("origins: http is for the local stack only")

    def _write(self, write: Write, widget: Widget, agent_id: str | None) -> None:
        agents = (agent_is_there(widget.tenant, agent_id),) if agent_id is not None else ()
        try:
            self.table.transact([write, pool_write(widget, self.settings), *agents])
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise
            raise Unprocessable("agent not found") from failure
