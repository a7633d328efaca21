"""Whoever adds a route or a tool says how to call it, so that the matrix of access tries it, too.

`tests/matrix` tries every one with the wrong tenant, the wrong scope, a non-member and so on.
"""

import pytest

from skein.agent.tools import TOOLS
from tests.matrix.arguments import OWN, SAMPLES, values_of
from tests.matrix.calls import BODIES, PATHS, QUERIES, ROUTES, Lacking, Route
from tests.matrix.households import Neighbours


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_the_matrix_can_call_every_route(route: Route) -> None:
    route.check_known(Neighbours().ours.own)


def names_of(tool: str) -> set[str]:
    """The names of a tool's arguments, as a model writes them."""
    fields = TOOLS[tool].arguments.model_fields.items()
    return {field.alias or name for name, field in fields}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_matrix_can_call_every_tool(tool: str) -> None:
    assert values_of(tool).keys() == names_of(tool)


def test_the_matrix_knows_nothing_that_is_not_there() -> None:
    arguments = {name: names_of(name) for name in TOOLS}
    assert SAMPLES.keys() <= {name for names in arguments.values() for name in names}
    assert all(OWN[tool].keys() <= arguments[tool] for tool in OWN)
    assert BODIES.keys() == {route.body for route in ROUTES} - {None}
    assert QUERIES.keys() == {name for route in ROUTES for name in route.query_names}
    assert PATHS.keys() <= {route.path for route in ROUTES}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"path_names": ("widget_id",)}, r"names a 'widget_id': let `Household.own`"),
        ({"query_names": ("widget",)}, r"takes 'widget' in its query: say in QUERIES"),
        ({"body": "NewWidget"}, r"takes a NewWidget: give one that fits in BODIES"),
    ],
)
def test_route_without_a_sample_fails_with_the_table_to_extend(
    change: dict[str, object], says: str
) -> None:
    values = {
        "api": ROUTES[0].api,
        "method": "GET",
        "path": "/v1/widgets",
        "path_names": (),
        "query_names": (),
        "body": None,
    }
    with pytest.raises(Lacking, match=says):
        Route(**(values | change)).check_known(Neighbours().ours.own)  # type: ignore[arg-type]


def test_tool_without_a_sample_fails_with_the_table_to_extend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(SAMPLES, "run_id")
    with pytest.raises(Lacking, match="'stop_run' takes 'run_id': add 'run_id' with a value to S"):
        values_of("stop_run")
    monkeypatch.setitem(OWN, "stop_run", {"run_id": "run_1"})
    assert values_of("stop_run") == {"run_id": "run_1"}


def test_a_number_and_a_truth_value_and_a_choice_need_no_row() -> None:
    assert values_of("set_goal").items() >= {"priority": 1, "long_term": True}.items()
    assert values_of("save_memory")["kind"] == "core"
