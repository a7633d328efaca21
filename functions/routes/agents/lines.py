"""Routes of phone lines, for operators."""

from aws_lambda_powertools.event_handler import Response

from routes.app import ApiRouter, Limit, PageCursor, PhoneNumber, documented, no_content
from routes.audited import changes, creates, deletes, reads
from skein.bootstrap.api import services
from skein.models.api.directory import LineChange, LinePage, LineResource, NewLine
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()


@router.post(
    "/v1/lines",
    summary="Connect a phone number to an agent",
    tags=["lines"],
    status_code=201,
    responses=documented(201, LineResource, 400, 409, 413),
    middlewares=creates("line", made="phone"),
)
def create_line(new: NewLine) -> LineResource:
    """A phone number can belong to one tenant only."""
    return LineResource.of(services().lines.create(router.caller.tenant, new))


@router.get(
    "/v1/lines",
    summary="List lines by number",
    tags=["lines"],
    responses=documented(200, LinePage, 400),
    middlewares=reads("line"),
)
def list_lines(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> LinePage:
    """Each line names its agent."""
    page = services().lines.list(router.caller.tenant, limit=limit, cursor=cursor)
    return LinePage(items=tuple(map(LineResource.of, page.items)), next_cursor=page.next_cursor)


@router.get(
    "/v1/lines/<phone>",
    summary="Get a line",
    tags=["lines"],
    responses=documented(200, LineResource, 404),
    middlewares=reads("line"),
)
def get_line(phone: PhoneNumber) -> LineResource:
    """The phone number is in E.164 form."""
    return LineResource.of(services().lines.get(router.caller.tenant, phone))


@router.patch(
    "/v1/lines/<phone>",
    summary="Update a line",
    tags=["lines"],
    responses=documented(200, LineResource, 400, 404, 413),
    middlewares=changes("line"),
)
def change_line(phone: PhoneNumber, change: LineChange) -> LineResource:
    """Existing chats of the line stay with their agent."""
    return LineResource.of(services().lines.change(router.caller.tenant, phone, change))


@router.delete(
    "/v1/lines/<phone>",
    summary="Delete a line",
    tags=["lines"],
    status_code=204,
    responses=documented(204, None, 404),
    middlewares=deletes("line"),
)
def delete_line(phone: PhoneNumber) -> Response[None]:
    """The chats of the line stay."""
    services().lines.delete(router.caller.tenant, phone)
    return no_content()
