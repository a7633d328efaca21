"""Numbers and truth values of request bodies and tool arguments are exact."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, Strict

from skein.agent.tools import TOOLS
from skein.models.api.base import Request
from skein.models.common.json_types import NUMBER, JsonTrue
from skein.models.config.overrides import ChatOverridesChange, TenantOverridesChange
from tests.matrix.calls import ROUTES
from tests.support.each import check_each

WHERE = "use a type of skein.models.common.json_types, and NUMBER last in the field's Annotated"


def subclasses(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


CHANGES: tuple[type[BaseModel], ...] = (ChatOverridesChange, TenantOverridesChange)
BODIES: dict[str, type[BaseModel]] = {
    body.__name__: body
    for body in (*subclasses(Request), *CHANGES)
    if body.__module__.startswith("skein.")
}


def loose(kind: Any, metadata: tuple[Any, ...] = ()) -> Iterator[str]:
    """The numbers and truth values in a type, nested ones included, that are not exact."""
    if get_origin(kind) is Annotated:
        inner, *added = get_args(kind)
        yield from loose(inner, (*flat(added), *metadata))
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            for found in loose(field.annotation, tuple(field.metadata)):
                yield f"{kind.__name__}.{name}: {found}"
    elif get_args(kind) and get_origin(kind) is not Literal:
        for part in get_args(kind):
            yield from loose(part, metadata)
    elif not is_exact(kind, metadata):
        yield str(kind)


def is_exact(kind: Any, metadata: tuple[Any, ...]) -> bool:
    if kind is bool:
        return any(isinstance(each, Strict) and each.strict for each in metadata)
    if kind in {int, float}:
        return bool(metadata) and metadata[-1] is NUMBER
    if get_origin(kind) is Literal and {int, float, bool} & {*map(type, get_args(kind))}:
        return get_args(JsonTrue)[1] in metadata
    return True


def flat(metadata: list[Any]) -> Iterator[Any]:
    """Metadata as pydantic applies it: a `Field` stands for its constraints."""
    for each in metadata:
        yield from getattr(each, "metadata", [each])


def test_every_body_of_a_route_is_known() -> None:
    assert {route.body for route in ROUTES} - {None} <= BODIES.keys()


def test_body_numbers_and_truth_values_are_exact() -> None:
    check_each(BODIES, _assert_exact)


def _assert_exact(model: type[BaseModel]) -> None:
    assert not list(loose(model)), WHERE


def test_tool_arguments_numbers_and_truth_values_are_exact() -> None:
    check_each({name: tool.arguments for name, tool in TOOLS.items()}, _assert_exact)
