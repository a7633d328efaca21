"""The typed CRUD router: routes that create, list, get, change and delete one kind of resource.

`Crud` builds the functions of these routes from the resource's service and models. A function
returns the resource's parent: `in_tenant`, or a function of `routes.scope`. The function's
parameters become parameters of each route: the ids in the path before the resource's own id, and
the scope in the query.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, Generic, Protocol, TypeVar

from aws_lambda_powertools.event_handler import Response

from routes.app import Limit, PageCursor, Principal, Role
from routes.router import ApiRouter, Method, no_content
from skein import bootstrap
from skein.models.api.base import Page, Request, Resource
from skein.privacy.models.audit import AuditKind
from skein.services.common.pagination import DEFAULT_PAGE, Listing
from skein.services.directory.keyed_calls import Kind, its_id

Parent = TypeVar("Parent")
Owner = TypeVar("Owner")
Service_co = TypeVar("Service_co", covariant=True)
Body = TypeVar("Body", bound=Request)
Parent_contra = TypeVar("Parent_contra", contravariant=True)
Given_contra = TypeVar("Given_contra", contravariant=True)


class Creates(Protocol[Parent_contra, Given_contra]):
    """A service with a method that creates items."""

    def create(self, parent: Parent_contra, new: Given_contra, /) -> object: ...


class Lists(Protocol[Parent_contra]):
    """A service that lists items in pages."""

    @property
    def list(self) -> Callable[Concatenate[Parent_contra, ...], Listing[Any]]:
        """List a page of items, with `limit`, `cursor` and filters."""


class Gets(Protocol[Parent_contra]):
    """A service with a method that returns one item."""

    def get(self, parent: Parent_contra, item_id: str, /) -> object: ...


class Changes(Protocol[Parent_contra, Given_contra]):
    """A service with a method that changes an item."""

    def change(self, parent: Parent_contra, item_id: str, change: Given_contra, /) -> object: ...


class Deletes(Protocol[Parent_contra]):
    """A service with a method that deletes an item."""

    def delete(self, parent: Parent_contra, item_id: str, /) -> object: ...


class Crud(ApiRouter, Generic[Parent, Service_co]):
    """A router whose methods add the routes of one kind of resource.

    Args:
        tag: The routes' tag in the OpenAPI document.
        kind: The kind of resource, which names the functions: `create_goal`, `list_goals`.
        path: The path of one resource. It ends with the parameter of the resource's id.
        id_type: The annotation of the id's parameter.
        parent: Returns the parent, given the caller and further parameters of the request.
        service: The class of the service, which has the methods for the routes.
        shown: The model of the responses. Its method `of` builds a response from the service's
            result.
        name: Replaces `kind` in the names of the functions, if given.
        suffix: The ending of the functions' names, if two parents have resources of one kind.
        made: The field of a response that contains the id of a created resource.
        writes: The role of operators for all methods but GET; `support` reads.
    """

    def __init__(
        self,
        tag: str,
        kind: AuditKind,
        path: str,
        id_type: Any,
        *,
        parent: Callable[..., Parent],
        service: type[Service_co],
        shown: type[Resource],
        name: str | None = None,
        suffix: str = "",
        made: str = "id",
        writes: Role = "support",
    ) -> None:
        super().__init__(tag, kind, made=made, role="support", writes=writes)
        self._path = path
        self._collection, _, id_name = path.rpartition("/")
        self._name = f"{name or kind}{suffix}"
        self._plural = f"{self._collection.rpartition('/')[2]}{suffix}"
        self._id = _parameter(id_name.strip("<>"), id_type)
        self._parent = parent
        self._service: Callable[[], Service_co] = lambda: bootstrap.service(service)
        self._shown = shown

    def creates(
        self: "Crud[Any, Creates[Owner, Body]]",
        new: type[Body],
        summary: str,
        *errors: int,
        about: str,
        item: Kind,
        again: Callable[[Any, Owner, str, Body], object] | None = None,
        parent: Callable[..., Owner] | None = None,
        shown: type[Resource] | None = None,
        id_of: Callable[[Any], str] = its_id,
    ) -> None:
        """Add the route that creates a resource.

        Args:
            new: The request.
            summary: A short summary of the call.
            item: The class of the item that the service stores.
            again: Returns the existing item when the call is repeated, given the service, the
                parent, the id and the request; default: the service's `get`.
            id_of: Returns the id that `again` takes; see `ApiRouter.once`.
            errors: Error statuses besides the usual ones.
            about: The description of the call.
            parent: Returns the parent, if it differs from that of the other routes.
            shown: The response's model, if it differs from that of the other routes.
        """
        result, repeat = shown or self._shown, again or _get

        def create(parent: Owner, body: Body) -> Resource:
            service = self._service()
            return result.of(
                self.once(
                    item,
                    lambda: service.create(parent, body),
                    lambda item_id: repeat(service, parent, item_id, body),
                    id_of=id_of,
                )
            )

        own = (_parameter("body", new),)
        name = f"create_{self._name}"
        function = self._function(name, about, create, own, result, parent or self._parent)
        self.route("POST", self._collection, summary, *errors)(function)

    def lists(
        self: "Crud[Parent, Lists[Parent]]",
        page: type[Page[Any]],
        summary: str,
        *,
        about: str,
        **filters: Any,
    ) -> None:
        """Add the route that lists a page of resources; see `creates`.

        Args:
            page: The response.
            filters: The annotations of further optional query parameters, which are passed to the
                service.
        """
        own = (
            *(_parameter(name, annotation, None) for name, annotation in filters.items()),
            _parameter("limit", Limit, DEFAULT_PAGE),
            _parameter("cursor", PageCursor, None),
        )
        names = [each.name for each in own]

        def find(parent: Parent, *given: Any) -> Page[Any]:
            return page.of(self._service().list(parent, **dict(zip(names, given, strict=True))))

        function = self._function(f"list_{self._plural}", about, find, own, page, self._parent)
        self.route("GET", self._collection, summary)(function)

    def gets(self: "Crud[Parent, Gets[Parent]]", summary: str, *, about: str) -> None:
        """Add the route that returns a resource; see `creates`."""

        def get(parent: Parent, item_id: str) -> Resource:
            return self._shown.of(self._service().get(parent, item_id))

        self._of_one("GET", "get", get, (), self._shown, summary, about)

    def changes(
        self: "Crud[Parent, Changes[Parent, Body]]",
        change: type[Body],
        summary: str,
        *errors: int,
        about: str,
    ) -> None:
        """Add the route that changes some fields of a resource; see `creates`."""

        def revise(parent: Parent, item_id: str, body: Body) -> Resource:
            return self._shown.of(self._service().change(parent, item_id, body))

        body = (_parameter("body", change),)
        self._of_one("PATCH", "change", revise, body, self._shown, summary, about, *errors)

    def deletes(
        self: "Crud[Parent, Deletes[Parent]]",
        summary: str,
        *errors: int,
        about: str,
        verb: str = "delete",
    ) -> None:
        """Add the route that deletes a resource. Its function's name begins with `verb`.

        See `creates` for the arguments.
        """

        def delete(parent: Parent, item_id: str) -> Response[None]:
            self._service().delete(parent, item_id)
            return no_content()

        self._of_one("DELETE", verb, delete, (), Response[None], summary, about, *errors)

    def _of_one(
        self,
        method: Method,
        verb: str,
        call: Callable[..., Any],
        own: tuple[Parameter, ...],
        returned: Any,
        summary: str,
        about: str,
        *errors: int,
    ) -> None:
        """Add a route whose path ends with a resource's id; see `_function` for the arguments."""
        name, own = f"{verb}_{self._name}", (self._id, *own)
        function = self._function(name, about, call, own, returned, self._parent)
        self.route(method, self._path, summary, *errors)(function)

    def _function(
        self,
        name: str,
        about: str,
        call: Callable[..., Any],
        own: tuple[Parameter, ...],
        returned: Any,
        parent: Callable[..., Parent],
    ) -> Callable[..., Any]:
        """Return the function of a route, with a signature that Powertools can read.

        Args:
            name: The name of the function, which is the operation's id in the document.
            about: The description of the call.
            call: Carries out the route, given the parent and the values of `own`.
            own: The parameters besides those of the parent.
            returned: The type that `call` returns.
            parent: Returns the parent.
        """
        _, *inherited = signature(parent).parameters.values()

        def function(**given: Any) -> Any:
            found = parent(self.caller, **{each.name: given[each.name] for each in inherited})
            return call(found, *(given[each.name] for each in own))

        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*inherited, *own)]
        function.__name__, function.__doc__ = name, about
        vars(function)["__signature__"] = Signature(parameters, return_annotation=returned)
        return function


def in_tenant(caller: Principal) -> str:
    """Return the caller's tenant, the parent of resources that belong to the whole tenant."""
    return caller.tenant


def _get(service: Any, parent: Any, item_id: str, _body: Any) -> object:
    return service.get(parent, item_id)


def _parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
