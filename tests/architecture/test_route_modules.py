"""A request imports the module of its route, and a new route is found."""

import pytest

import admin_api
import mobile_api
from routes.app import Api
from routes.router import routers_in
from tests.support.function_services import FUNCTIONS

MODULES = [(api, name) for api in (mobile_api.api, admin_api.api) for name in api.modules]
ROUTES = FUNCTIONS / "routes"


@pytest.mark.parametrize(("api", "name"), MODULES, ids=[name for _, name in MODULES])
def test_paths_of_a_module_begin_as_its_api_says(api: Api, name: str) -> None:
    rules = {key[0] for router in routers_in(name) for key in router._routes}
    assert rules
    for rule in rules:
        assert name in api.modules_of(rule), (
            f"no request for {rule} imports routes/{name.replace('.', '/')}.py: "
            "add the start of the path to MODULES of its API"
        )


def test_every_module_with_routes_belongs_to_an_api() -> None:
    files = {path for path in ROUTES.glob("*/*.py") if "Router(" in path.read_text()}
    files |= {path for path in ROUTES.glob("*/*.py") if "= Crud(" in path.read_text()}
    found = {".".join(path.relative_to(ROUTES).with_suffix("").parts) for path in files}
    assert found == {name for _, name in MODULES}


def test_starts_of_paths_match_whole_parts() -> None:
    assert admin_api.api.modules_of("/v1/users") == ["people.users"]
    assert admin_api.api.modules_of("/v1/users/usr_1") == ["privacy.privacy", "people.users"]
    assert admin_api.api.modules_of("/v1/usersandmore") == []
    assert admin_api.api.modules_of("/") == []
