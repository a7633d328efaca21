"""Every route and tool has sample arguments, so that the access matrix covers it.

`tests/matrix` tries every one with the wrong tenant, the wrong scope, a non-member and so on.
"""

from skein.agent.tools import TOOLS
from tests.matrix.arguments import OWN, SAMPLES, values_of
from tests.matrix.calls import BODIES, PATHS, QUERIES, ROUTES
from tests.matrix.tenant_data import Neighbours
from tests.support.each import check_each


def test_the_matrix_can_call_every_route() -> None:
    own = Neighbours().ours.own
    for route in ROUTES:
        route.check_known(own)


def names_of(tool: str) -> set[str]:
    """The names of a tool's arguments, as a model writes them."""
    fields = TOOLS[tool].arguments.model_fields.items()
    return {field.alias or name for name, field in fields}


def test_the_matrix_can_call_every_tool() -> None:
    check_each({tool: tool for tool in TOOLS}, _check_tool)


def _check_tool(tool: str) -> None:
    assert values_of(tool).keys() == names_of(tool)


def test_matrix_samples_name_only_existing_routes_and_arguments() -> None:
    arguments = {name: names_of(name) for name in TOOLS}
    assert SAMPLES.keys() <= {name for names in arguments.values() for name in names}
    assert all(OWN[tool].keys() <= arguments[tool] for tool in OWN)
    assert BODIES.keys() == {route.body for route in ROUTES} - {None}
    assert QUERIES.keys() == {name for route in ROUTES for name in route.query_names}
    assert PATHS.keys() <= {route.path for route in ROUTES}
