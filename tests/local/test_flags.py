"""The feature flags of a local stack: a file that begins as a deployment does."""

from datetime import timedelta
from pathlib import Path

import pytest

from local.aws import APP_CONFIG
from local.environment import Surroundings
from local.errors import BadTemplateError
from local.flags import first_flags
from local.template import Template
from skein.adapters.feature_flags import PowertoolsFlags, from_file
from skein.services.config.rollout import ENABLED, PERCENT
from tests.fakes.system import FixedClock
from tests.support.builders import NOON

TEMPLATE = Template.load()


def test_the_file_begins_with_context_for_everybody(tmp_path: Path) -> None:
    path = first_flags(tmp_path / "flags.json", TEMPLATE)
    flags = PowertoolsFlags(from_file(path), FixedClock(NOON), kept_for=timedelta(0))
    about = {"tenant": "demo", "user": "usr_1"}
    assert flags.evaluate(ENABLED, about, None) is True
    assert flags.evaluate(PERCENT, about, None) == 100


def test_what_somebody_wrote_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "flags.json"
    path.write_text('{"context": {"default": false}}')
    assert first_flags(path, TEMPLATE).read_text() == '{"context": {"default": false}}'


def test_a_template_without_flags_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(BadTemplateError, match="there are 0"):
        first_flags(tmp_path / "flags.json", Template({"Resources": {}}))


def test_functions_find_no_app_config_here_but_the_file() -> None:
    named = {
        "Table": "skein",
        **{q.logical_id: "http://queue" for q in TEMPLATE.queues},
        **{name: "" for kind in APP_CONFIG for name, _ in TEMPLATE.resources(kind)},
    }
    surroundings = Surroundings(
        base_url="http://127.0.0.1:1",
        aws_url="http://127.0.0.1:2",
        model_url=None,
        names=named,
        chosen={"SKEIN_FLAGS_FILE": "/data/flags.json"},
    )
    settings = surroundings.settings(TEMPLATE)
    assert (settings.flags_application, settings.flags_file) == ("", "/data/flags.json")
