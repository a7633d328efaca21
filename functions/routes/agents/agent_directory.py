"""Route of the directory, in which people find agents."""

from routes.app import Limit, PageCursor
from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.api.directory import DirectoryPage
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.directory.agents import Agents

router = ApiRouter("agents", Unaudited("operators list these agents for all people of the tenant"))


@router.get("/v1/agents/directory", "List the agents of the directory, oldest first")
def list_directory(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> DirectoryPage:
    """An agent is unlisted until an operator sets `listed`."""
    page = service(Agents).directory(router.caller.tenant, limit=limit, cursor=cursor)
    return DirectoryPage.of(page)
