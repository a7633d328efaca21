"""Callers with API keys and tokens of Skein's own, behind the gateway and its authorizer."""

from dataclasses import dataclass, field
from typing import Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

import authorizer
from skein import bootstrap
from tests.support.api_client import Answer, Client, Context


def identified(client: Client, bearer: str) -> dict[str, Any]:
    """Return what the authorizer tells the functions about a bearer token."""
    bootstrap.use(client.world.app)
    event = {"version": "2.0", "type": "REQUEST", "identitySource": [f"Bearer {bearer}"]}
    answer: dict[str, Any] = authorizer.handler(event, cast("LambdaContext", Context(authorizer)))
    assert answer["isAuthorized"] is True
    context: dict[str, Any] = answer["context"]
    return context


@dataclass(frozen=True)
class Bearer(Client):
    """A caller with a bearer token, for whom the gateway keeps the authorizer's first result."""

    bearer: str = ""
    kept: dict[str, Any] = field(default_factory=dict)

    def send(self, event: dict[str, Any]) -> Answer:
        if not self.kept:
            self.kept.update(identified(self, self.bearer))
        event["requestContext"]["authorizer"] = {"lambda": self.kept}
        return super().send(event)
