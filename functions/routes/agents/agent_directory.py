"""Route of the directory, in which people find agents."""

from routes.app import ApiRouter, Limit, PageCursor, documented
from routes.audited import unaudited
from skein.bootstrap.api import services
from skein.models.api.directory import DirectoryPage, ListedAgent
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()


@router.get(
    "/v1/agents/directory",
    summary="List the agents of the directory, oldest first",
    tags=["agents"],
    responses=documented(200, DirectoryPage, 400),
    middlewares=unaudited("operators list these agents for all people of the tenant"),
)
def list_directory(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> DirectoryPage:
    """An agent is unlisted until an operator sets `listed`."""
    page = services().agents.directory(router.caller.tenant, limit=limit, cursor=cursor)
    return DirectoryPage(items=tuple(map(ListedAgent.of, page.items)), next_cursor=page.next_cursor)
