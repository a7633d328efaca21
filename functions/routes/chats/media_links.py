"""Route of the links to files of messages, which a phone and the provider open without a token."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response, content_types
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.services.delivery.media_links import OpenedLinks

FOUND = 302
PRIVATE = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex",
}

router = ApiRouter("messages", Unaudited(CONVERSATION))

Token = Annotated[str, Path(min_length=1, max_length=200, description="The token of the link.")]


@router.get("/v1/m/<token>", "Download an image or file from a link", public=True, status=FOUND)
def open_link(token: Token) -> Response[None]:
    """Redirects to the file. The link works for five minutes after the agent sent it.

    The status is 404 if the link has expired, or if the person to whom the agent sent the file may
    not see it any more.
    """
    url = service(OpenedLinks).open(token)
    return Response(FOUND, content_types.TEXT_PLAIN, headers={**PRIVATE, "location": url})
