"""Middlewares that declare for each route whether and how its calls are audited.

The audit entry is written after the route succeeds and before its response is returned. So a
response is never sent without its audit entry.
"""

import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from aws_lambda_powertools.event_handler import Response

from routes.app import Role, with_plus
from skein.bootstrap import service
from skein.channels.phone_numbers import e164
from skein.errors import Forbidden
from skein.masking import masked
from skein.privacy.audit_log import AuditedAction, AuditLog
from skein.privacy.models.audit import AuditKind, AuditScope, AuditVerb
from skein.workspace.models.document import Document

Next = Callable[[Any], Response[Any]]
seen: ContextVar[set[str]] = ContextVar("people whose private content the call shows")

# The parameters of routes that show private content, and of those that pass an agent's gate.
REASONS = ("reason", "override_reason")
PARAMETER = re.compile(r"{(\w+)}")
CONVERSATION = "the chat itself records its members and the authors of its messages"


def note_seen(people: Iterable[str]) -> None:
    """Record the people whose private content the current call shows or changes."""
    seen.get().update(people)


class Requires:
    """Middleware that admits only operators with one of the given roles.

    Args:
        roles: The roles. The first one is documented and audited.
    """

    def __init__(self, *roles: Role) -> None:
        self.roles = roles
        self.role = roles[0]
        self.__name__ = f"requires: {' or '.join(roles)}"

    def __call__(self, api: Any, following: Next) -> Response[Any]:
        """Call the route.

        Raises:
            Forbidden: The caller does not have any of the roles.
        """
        api.context["principal"].need(*self.roles)
        return following(api)


class Audited:
    """Middleware that writes an audit entry for each call that succeeds or is forbidden.

    The entry contains the path's parameters and those parameters of the query that are ids, days or
    phone numbers. People's numbers are masked. Bodies of requests are never read. The id of a
    created resource comes from the response.

    Args:
        verb: The verb of the audit entry, such as `read`.
        kind: The kind of resource that the call reads or changes.
        made: The field of the response that contains the id of a created resource.
        scope: The scope that the call needs.
        polled: Whether pages of the console repeat the call to look for changes. If so, repeated
            calls share one entry an hour; each refused call still has its own entry.
        reason: The reason in the entry, for a route that does not ask the operator for a reason.
    """

    def __init__(
        self,
        verb: AuditVerb,
        kind: AuditKind,
        *,
        made: str = "id",
        scope: AuditScope = "chat",
        polled: bool = False,
        reason: str | None = None,
    ) -> None:
        self.verb = verb
        self.kind = kind
        self.scope = scope
        self._polled = polled
        self._made = made
        self._given_reason = reason
        self.__name__ = f"audited: {verb} {kind}"

    def __call__(self, api: Any, following: Next) -> Response[Any]:
        """Call the route and write an audit entry."""
        token = seen.set(set())
        try:
            answer = following(api)
            self._add(api, self._ids(api) | self._id_of_made(answer))
        except Forbidden:
            self._add(api, self._ids(api), refused=True)
            raise
        finally:
            seen.reset(token)
        return answer

    def _add(self, api: Any, ids: dict[str, str], *, refused: bool = False) -> None:
        principal, request = api.context["principal"], api.request
        service(AuditLog).add(
            principal.tenant,
            AuditedAction(
                who=principal.user_id,
                scope=self.scope,
                verb=self.verb,
                kind=self.kind,
                ids=ids,
                route=f"{request.method} {request.route}",
                refused=refused,
                reason=self._reason(api),
                request_id=api.current_event.request_context.request_id,
            ),
            seen=() if refused else seen.get(),
            hourly=self._polled and not refused,
        )

    def _reason(self, api: Any) -> str | None:
        """Return the operator's reason if the route asks for one, otherwise the fixed `reason`."""
        taken = api.parameters_of(api.request.method, api.request.route)
        names = [name for name in REASONS if name in taken]
        if not names:
            return self._given_reason
        given = api.current_event.query_string_parameters
        return next((str(given[name]) for name in names if given.get(name)), None)

    def _ids(self, api: Any) -> dict[str, str]:
        """Return the path and query parameters that identify resources."""
        request = api.request
        in_path = PARAMETER.findall(request.route)
        in_query = api.current_event.query_string_parameters
        found = {
            name: request.path_parameters[name] if name in in_path else in_query[name]
            for name in api.parameters_of(request.method, request.route)
            if name in in_path or (_names_something(name) and in_query.get(name))
        }
        return {name: self._shown(name, str(value)) for name, value in found.items()}

    def _shown(self, name: str, value: str) -> str:
        """Return a parameter's value as it is written to the audit entry.

        Phone numbers are masked, unless they are the tenant's own lines. A document's name is
        replaced by its id.
        """
        if name == "document_id":  # may be a name, which is text that a member wrote
            return Document.id_of(value)
        if self.kind == "line" or name.endswith("_id"):
            return value
        return masked(e164(str(with_plus(value))) if name == "phone" else value)

    def _id_of_made(self, answer: Response[Any]) -> dict[str, str]:
        if self.verb != "create" or not isinstance(answer.body, dict):
            return {}
        made = answer.body.get(self._made)
        name = self._made if self._made != "id" else f"{self.kind}_id"
        return {name: str(made)} if made is not None else {}


def _names_something(parameter: str) -> bool:
    return parameter.endswith("_id") or parameter in {"day", "phone"}


class Unaudited:
    """Middleware that declares that a route needs no audit entry.

    Args:
        why: The reason why the route needs no entry, such as another record of the call.
    """

    def __init__(self, why: str) -> None:
        self.why = why
        self.__name__ = "unaudited"

    def __call__(self, api: Any, following: Next) -> Response[Any]:
        return following(api)
