"""`make rehearse` follows docs/deploy.md, and asserts what the emulator ignores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from twilio.request_validator import RequestValidator

from tests.support.template import deployed_template
from tools.rehearsal import conversation, template_checks
from tools.rehearsal.page import CommandError, Shell, blocks

SECONDS = 20.0
RUN = {"In four commands", "Outputs", "Twilio", "Smoke test", "Taking it down"}
NOT_RUN = {"Staging and production"}  # further stacks with placeholders


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    opened = Shell({"PATH": "/usr/bin:/bin"}, tmp_path / "log")
    yield opened
    opened.close()


def template_without(tmp_path: Path, remove: str) -> Path:
    """Write the template without a resource's property: `<resource or *>.<property>`."""
    document: dict[str, Any] = dict(deployed_template().document)
    resources = {name: dict(each) for name, each in document["Resources"].items()}
    for each in resources.values():
        each["Properties"] = {k: v for k, v in each.get("Properties", {}).items() if k != remove}
        if remove == "DeletionPolicy":
            each.pop(remove, None)
    path = tmp_path / "template.yaml"
    path.write_text(yaml.safe_dump(document | {"Resources": resources}), encoding="utf-8")
    return path


def test_deploy_page_each_section_with_commands_is_run_or_named_as_not_run() -> None:
    assert set(blocks()) == RUN | NOT_RUN


def test_shell_keeps_variables_between_blocks(shell: Shell) -> None:
    shell.run("A=1\n", seconds=SECONDS)
    assert shell.run('printf "$A"\n', seconds=SECONDS).strip() == "1"


def test_shell_failing_command_raises_and_shows_no_block(shell: Shell) -> None:
    with pytest.raises(CommandError) as raised:
        shell.run("SECRET=abc\nfalse\ntrue\n", seconds=SECONDS)
    assert "abc" not in str(raised.value)
    assert shell.run("true\n", seconds=SECONDS).strip() == ""


def test_shell_late_command_raises(shell: Shell) -> None:
    with pytest.raises(CommandError, match="no end within"):
        shell.run("read -t 10 < /dev/zero; exec cat /dev/zero > /dev/null\n", seconds=0.5)


def test_template_checks_template_passes(tmp_path: Path) -> None:
    assert "RunWorker" in template_checks.check(template_without(tmp_path, "nothing"))


@pytest.mark.parametrize("missing", ["RecursiveLoop", "VectorIndexes", "DeletionPolicy"])
def test_template_checks_without_a_property_fail(tmp_path: Path, missing: str) -> None:
    with pytest.raises(template_checks.WrongTemplateError):
        template_checks.check(template_without(tmp_path, missing))


def test_signature_of_the_rehearsal_is_twilios() -> None:
    form, url = {"To": "+1", "Body": "Hi there", "From": "+2"}, "https://skein.example/sms"
    signed = conversation.signature(url, form, "token")
    assert RequestValidator("token").validate(url, form, signed)
