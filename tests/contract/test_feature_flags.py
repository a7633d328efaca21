"""Flags by Powertools' rules, from a file and from AWS AppConfig, and what holds without them."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from skein.adapters.feature_flags import PowertoolsFlags, from_app_config, from_file
from skein.bootstrap import build_app
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.builders import NOON

ABOUT = {"tenant": "acme", "user": "usr_husam"}
OFF_FOR_ACME = {
    "context": {
        "default": True,
        "rules": {
            "acme waits": {
                "when_match": False,
                "conditions": [{"action": "EQUALS", "key": "tenant", "value": "acme"}],
            }
        },
    },
    "context_rollout_percent": {"default": 25, "boolean_type": False},
}
SETTINGS = Settings(flags_application="app", flags_environment="env", flags_profile="flags")


class AppConfig:
    """AWS AppConfig as its client sees it; each new client begins a session of its own.

    Attributes:
        sessions: How many were begun.
    """

    def __init__(self, *answers: dict[str, Any] | str | None) -> None:
        self.answers = list(answers)
        self.sessions = 0

    def client(self) -> Any:
        self.sessions += 1
        client = botocore.session.get_session().create_client(
            "appconfigdata",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        stub = Stubber(client)
        stub.add_response(
            "start_configuration_session",
            {"InitialConfigurationToken": "token-0"},
            {
                "ApplicationIdentifier": "app",
                "EnvironmentIdentifier": "env",
                "ConfigurationProfileIdentifier": "flags",
            },
        )
        for number, answer in enumerate(self.answers):
            if answer is None:
                stub.add_client_error("get_latest_configuration", "BadRequestException")
                self.answers = self.answers[number + 1 :]
                break
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            stub.add_response(
                "get_latest_configuration",
                {
                    "NextPollConfigurationToken": f"token-{number + 1}",
                    "Configuration": StreamingBody(BytesIO(data), len(data)),
                },
                {"ConfigurationToken": f"token-{number}"},
            )
        stub.activate()
        return client


def flags_of(
    *answers: dict[str, Any] | str | None,
) -> tuple[PowertoolsFlags, FixedClock, AppConfig]:
    clock, source = FixedClock(NOON), AppConfig(*answers)
    return PowertoolsFlags(from_app_config(SETTINGS, source.client), clock), clock, source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "flags.json"


def from_this_file(path: Path) -> PowertoolsFlags:
    return PowertoolsFlags(from_file(path), FixedClock(NOON), kept_for=timedelta(0))


def both(file: Path) -> list[PowertoolsFlags]:
    file.write_text(json.dumps(OFF_FOR_ACME))
    return [from_this_file(file), flags_of(OFF_FOR_ACME)[0]]


def test_rules_decide_by_whom_it_is_about(file: Path) -> None:
    for flags in both(file):
        assert flags.evaluate("context", ABOUT, True) is False
        assert flags.evaluate("context", ABOUT | {"tenant": "globex"}, False) is True
        assert flags.evaluate("context_rollout_percent", ABOUT, 100) == 25
        assert flags.evaluate("no_such_flag", ABOUT, "as given") == "as given"


def test_a_file_is_read_anew_each_time(file: Path) -> None:
    flags = from_this_file(file)
    for value in (True, False, True):
        file.write_text(json.dumps({"context": {"default": value}}))
        assert flags.evaluate("context", ABOUT, None) is value


def test_app_config_is_asked_once_a_minute_and_a_change_is_seen() -> None:
    first, second = ({"context": {"default": value}} for value in (True, False))
    flags, clock, source = flags_of(first, "", second)
    assert flags.evaluate("context", ABOUT, None) is True
    clock.advance(59)
    assert flags.evaluate("context", ABOUT, None) is True
    clock.advance(1)  # AppConfig says nothing when nothing has changed
    assert flags.evaluate("context", ABOUT, None) is True
    clock.advance(60)
    assert flags.evaluate("context", ABOUT, None) is False
    assert source.sessions == 1


def test_the_last_good_flags_hold_while_none_can_be_read_and_a_new_session_begins() -> None:
    off, on = ({"context": {"default": value}} for value in (False, True))
    flags, clock, source = flags_of(off, None, on)
    assert flags.evaluate("context", ABOUT, True) is False
    clock.advance(60)
    assert flags.evaluate("context", ABOUT, True) is False
    clock.advance(60)
    assert flags.evaluate("context", ABOUT, False) is True
    assert source.sessions == 2


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"context": true}', '{"context": {"rules": {}}}'], ids=repr
)
def test_flags_that_make_no_sense_are_as_good_as_none(broken: str, file: Path) -> None:
    file.write_text(broken)
    flags = from_this_file(file)
    assert flags.evaluate("context", ABOUT, "default") == "default"
    file.write_text(json.dumps({"context": {"default": False}}))
    assert flags.evaluate("context", ABOUT, True) is False
    file.write_text(broken)
    assert flags.evaluate("context", ABOUT, True) is False


def test_a_failure_is_not_repeated_for_a_minute() -> None:
    asked: list[int] = []

    def fail() -> dict[str, Any]:
        asked.append(1)
        raise OSError("no network")

    clock = FixedClock(NOON)
    flags = PowertoolsFlags(fail, clock)
    for _ in range(3):
        assert flags.evaluate("context", ABOUT, True) is True
    assert len(asked) == 1
    clock.advance(60)
    flags.evaluate("context", ABOUT, True)
    assert len(asked) == 2


@pytest.mark.parametrize("chosen", [lambda _: None, str], ids=["none", "file"])
def test_the_settings_say_where_flags_come_from(
    chosen: Callable[[Path], str | None], file: Path
) -> None:
    file.write_text(json.dumps(OFF_FOR_ACME))
    app = build_app(Settings(flags_file=chosen(file)), clock=FixedClock(NOON))
    assert app.flags.evaluate("context", ABOUT, True) is (chosen(file) is None)
