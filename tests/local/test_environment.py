"""The environment of the local functions: settings of the user reach the functions."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from local.environment import CHOOSABLE, KeptSecrets, StackEnvironment, new_twilio_account
from local.sqlite.engine import SqliteEngine
from skein.errors import MissingSecret
from tests.support.template import deployed_template


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The table's and the queues' names in a local stack."""
    engine = SqliteEngine(tmp_path_factory.mktemp("stack"))
    yield engine.start(deployed_template())
    engine.stop()


def environment(names: Mapping[str, str], **chosen: str) -> StackEnvironment:
    return StackEnvironment(
        base_url="http://127.0.0.1:1",
        model_url=None,
        names=names,
        live_url="ws://127.0.0.1:3",
        chosen=chosen,
    )


@pytest.mark.parametrize("name", CHOOSABLE)
def test_model_of_the_user_reaches_the_functions(name: str, names: Mapping[str, str]) -> None:
    template = deployed_template()
    chosen = environment(names, **{name: "other-model"})
    assert chosen.variables(template)[name] == "other-model"
    assert chosen.skein(template)[name] == "other-model"


def test_embeddings_model_of_the_user_reaches_the_settings(names: Mapping[str, str]) -> None:
    chosen = environment(names, SKEIN_EMBEDDINGS_MODEL="text-embedding-3-small")
    settings = chosen.settings(deployed_template())
    assert settings.embeddings_model == "text-embedding-3-small"


def test_tenant_of_all_tokens_can_be_chosen(names: Mapping[str, str]) -> None:
    settings = environment(names, SKEIN_JWT_TENANT="demo").settings(deployed_template())
    assert (settings.jwt_tenant, settings.jwt_tenant_claim) == ("demo", "tenant")


def test_models_of_the_template_can_all_be_chosen(names: Mapping[str, str]) -> None:
    variables = environment(names).variables(deployed_template())
    known = {name for name in variables if name.endswith("_MODEL")}
    assert known == {name for name in CHOOSABLE if name.endswith("_MODEL")}


def test_number_of_the_template_reaches_the_functions_as_text(names: Mapping[str, str]) -> None:
    variables = environment(names).variables(deployed_template())
    assert variables["SKEIN_TRACE_PERCENT"] == "0"
    assert {type(value) for value in variables.values()} == {str}


def test_secrets_of_tools_are_in_a_file_that_only_its_owner_may_read(tmp_path: Path) -> None:
    file = tmp_path / "tool-secrets.json"
    kept = KeptSecrets({}, file)
    with pytest.raises(MissingSecret, match="no secret"):
        kept.get("skein-tools/demo/shop")
    file.write_text('{"skein-tools/demo/shop": {"value": "Bearer x"}}')
    file.chmod(0o600)
    assert kept.get("skein-tools/demo/shop") == {"value": "Bearer x"}
    file.chmod(0o644)
    with pytest.raises(MissingSecret, match="chmod 600"):
        kept.get("skein-tools/demo/shop")


def test_credentials_of_other_providers_are_added_to_those_of_twilio(tmp_path: Path) -> None:
    (tmp_path / "twilio.json").write_text(json.dumps(new_twilio_account() | {"other_key": "k"}))
    assert SqliteEngine(tmp_path).twilio_account()["other_key"] == "k"
