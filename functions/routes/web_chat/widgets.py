"""Routes of widgets, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.crud import Crud, in_tenant
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.web_chat.api import NewWidget, WidgetChange, WidgetPage, WidgetResource, WidgetUsage
from skein.web_chat.limits import VisitLimits
from skein.web_chat.models.widget import Widget
from skein.web_chat.widgets import Widgets

WidgetId = Annotated[EntityId, Path(description="The id of a widget.")]

# The audit log calls a widget a service: release 0.3.0 reads entries of the kinds that it knows.
router = Crud(
    "widgets",
    "service",
    "/v1/widgets/<widget_id>",
    WidgetId,
    name="widget",
    parent=in_tenant,
    service=Widgets,
    shown=WidgetResource,
    writes="owner",
)

router.creates(
    NewWidget,
    "Create a widget",
    409,
    item=Widget,
    about="Pages of its origins then show the agent with one tag; see `docs/web-chat.md`.",
)
router.lists(WidgetPage, "List widgets, oldest first", about="Each has its origins and its limits.")
router.gets("Get a widget", about="Visitors read only what `GET .../public` returns.")
router.changes(
    WidgetChange,
    "Update a widget",
    about="The change counts from the next call of a visitor. Another consent text raises "
    "`consent_version`.",
)
router.deletes("Delete a widget", about="Its visits end at once. Their chats stay.")


@router.get("/v1/widgets/<widget_id>/usage", "Get the used budget of a widget")
def get_widget_usage(widget_id: WidgetId) -> WidgetUsage:
    """The budgets refill evenly over a day. An alarm is raised when 80 % of the tokens are used."""
    widget = service(Widgets).get(router.caller.tenant, widget_id)
    return WidgetUsage.shown(widget, service(VisitLimits).used(widget))
