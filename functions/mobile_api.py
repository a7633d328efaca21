"""Handler of the users' HTTP API: chats and messages (scope `chat`)."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.agents import agent_directory
from routes.app import Api
from routes.chats import chats, live, messages
from routes.operations import health
from routes.people import me
from skein.logs import logged

api = Api(scope="chat", public=frozenset({"/healthz"})).including(
    health.router.routes,
    me.router.routes,
    agent_directory.router.routes,
    chats.router.routes,
    chats.members.routes,
    messages.router.routes,
    live.router.routes,
)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle one API request."""
    return api.resolve(event, context)
