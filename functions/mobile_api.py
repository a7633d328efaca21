"""Handler of the users' HTTP API: chats and messages (scope `chat`)."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import Api
from routes.router import routers_in
from skein.logs import logged

MODULES = {
    "operations.health": ("/healthz",),
    "people.me": ("/v1/me",),
    "errands.own_errands": ("/v1/me/errands",),
    "recall.message_search": ("/v1/me/messages",),
    "agents.agent_directory": ("/v1/agents/directory",),
    "chats.chats": ("/v1/chats",),
    "chats.messages": ("/v1/chats/*/messages", "/v1/chats/*/read", "/v1/chats/*/runs"),
    "chats.media_links": ("/v1/m/*",),
    "media.media": ("/v1/media", "/v1/chats/*/media"),
    "live.live": ("/v1/live",),
    "live.devices": ("/v1/me/devices",),
    "sharing.own": ("/v1/me/sharing", "/v1/chats/*/sharing"),
    "web_chat.visits": ("/v1/visit", "/v1/widgets"),
}

PUBLIC = frozenset({"/healthz", "/v1/m/*", "/v1/widgets/*/public", "/v1/widgets/*/visits"})
# What the token of a visit opens, and nothing else; `*` is the visit's own chat.
VISITS = frozenset(
    {
        "GET /v1/chats/*/messages",
        "POST /v1/chats/*/messages",
        "POST /v1/chats/*/read",
        "POST /v1/live",
        "GET /v1/visit",
        "DELETE /v1/visit",
        "POST /v1/visit/end",
    }
)

api = Api(scope="chat", modules=MODULES, routers_in=routers_in, public=PUBLIC, visits=VISITS)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return api.resolve(event, context)
