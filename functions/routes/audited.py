"""What every call of the API says about itself: whether it is audited, and as what.

A declaration is a middleware of its route. It runs once the call has succeeded and before its
answer goes out, so that nothing is told that was not written down.
"""

import re
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.request import Request

from skein.bootstrap import app
from skein.masking import masked
from skein.models.audit import AuditKind, AuditVerb
from skein.models.document import Document
from skein.services.privacy.audit_log import Deed

Next = Callable[[Any], Response[Any]]
Middlewares = list[Callable[..., Response[Any]]]

PARAMETER = re.compile(r"{(\w+)}")
CONVERSATION = "the chat itself says who was in it, and who wrote what"


class Audited:
    """Writes down who made the call, and to what.

    Which one it was follows from the parameters of the path and from those of the query that are
    ids or days; bodies are never looked at. Of what was made, the answer has the id.

    Args:
        verb: What the call does.
        kind: To what.
        made: Where the answer of a `create` has the id.
    """

    def __init__(self, verb: AuditVerb, kind: AuditKind, *, made: str = "id") -> None:
        self.verb = verb
        self.kind = kind
        self._made = made
        self.__name__ = f"audited: {verb} {kind}"

    def __call__(self, api: Any, following: Next) -> Response[Any]:
        """Let the route answer, and write that down."""
        answer = following(api)
        principal, request = api.context["principal"], api.request
        app().audit.add(
            principal.tenant,
            Deed(
                who=principal.user_id,
                scope=api.scope,
                verb=self.verb,
                kind=self.kind,
                ids=self._ids(request) | self._id_of_made(answer),
                route=f"{request.method} {request.route}",
                request_id=api.current_event.request_context.request_id,
            ),
        )
        return answer

    def _ids(self, request: Request) -> dict[str, str]:
        """The parameters that name something, as they were validated; not the body."""
        in_path = PARAMETER.findall(request.route)
        # Once the route has answered, these are its arguments: of path, query and body.
        return {
            name: self._shown(name, str(value))
            for name, value in request.path_parameters.items()
            if value is not None and (name in in_path or _names_something(name))
        }

    def _shown(self, name: str, value: str) -> str:
        """A number is shown only where it is one of the tenant's own lines."""
        if name == "document_id":  # or a name, which is what somebody wrote
            return Document.id_of(value)
        return value if self.kind == "line" or name.endswith("_id") else masked(value)

    def _id_of_made(self, answer: Response[Any]) -> dict[str, str]:
        if self.verb != "create" or not isinstance(answer.body, dict):
            return {}
        made = answer.body.get(self._made)
        name = self._made if self._made != "id" else f"{self.kind}_id"
        return {name: str(made)} if made is not None else {}


def _names_something(parameter: str) -> bool:
    return parameter.endswith("_id") or parameter == "day"


class Unaudited:
    """Says that a call needs no entry, and why.

    Args:
        why: What tells of it instead, or why there is nothing to tell.
    """

    def __init__(self, why: str) -> None:
        self.why = why
        self.__name__ = "unaudited"

    def __call__(self, api: Any, following: Next) -> Response[Any]:
        """Let the route answer."""
        return following(api)


def reads(kind: AuditKind) -> Middlewares:
    """The call shows one or many of these."""
    return [Audited("read", kind)]


def creates(kind: AuditKind, *, made: str = "id") -> Middlewares:
    """The call makes one of these; its answer has the id under the name `made`."""
    return [Audited("create", kind, made=made)]


def changes(kind: AuditKind) -> Middlewares:
    """The call changes one of these."""
    return [Audited("change", kind)]


def deletes(kind: AuditKind) -> Middlewares:
    """The call takes one of these away."""
    return [Audited("delete", kind)]


def unaudited(why: str) -> Middlewares:
    """The call leaves no entry; `why` says for what reason."""
    return [Unaudited(why)]
