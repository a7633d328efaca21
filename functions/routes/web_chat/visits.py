"""Routes of the web chat for pages that nobody has signed in to (function `mobile_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.web_chat.api import PublicWidget
from skein.web_chat.widgets import Widgets

router = ApiRouter("widgets", Unaudited("anybody may read it"))

WidgetId = Annotated[EntityId, Path(description="The id of a widget.")]


@router.get(
    "/v1/widgets/<widget_id>/public", "Get what anybody may read of a widget", 403, public=True
)
def get_public_widget(widget_id: WidgetId) -> PublicWidget:
    """The call needs no token, but the `Origin` of a page of the widget. Nothing is stored."""
    origin = router.routes.current_event.headers.get("origin")
    return PublicWidget.shown(service(Widgets).on_page(widget_id, origin))
