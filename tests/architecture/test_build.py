"""What the build leaves out is not needed, and what it fetches is what was expected."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from local.template import TEMPLATE, Template
from tools import deploy, layer, size

# A finder that knows nothing of the domains that the layer leaves out.
USE_PRUNED_TWILIO = """
import sys

class Pruned:
    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if parts[:2] == ["twilio", "rest"] and len(parts) > 2 and parts[2] not in {kept!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Pruned())
from twilio.rest import Client
client = Client("AC0", "token")
assert client.messages.create and client.messages.list
"""


def file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_twilio_sends_and_finds_messages_without_what_the_layer_leaves_out() -> None:
    program = USE_PRUNED_TWILIO.format(kept=layer.TWILIO_DOMAINS)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pruning_keeps_what_runs(tmp_path: Path) -> None:
    kept = [
        file(tmp_path / "twilio" / "rest" / "__init__.py"),
        file(tmp_path / "twilio" / "rest" / "api" / "v2010.py"),
        file(tmp_path / "openai" / "_client.py"),
        file(tmp_path / "openai-1.dist-info" / "METADATA"),
    ]
    file(tmp_path / "twilio" / "rest" / "voice" / "v1.py")
    file(tmp_path / "openai" / "tests" / "test_client.py")
    file(tmp_path / "openai" / "_client.pyi")
    file(tmp_path / "openai-1.dist-info" / "RECORD")
    file(tmp_path / "bin" / "openai")
    layer.prune(tmp_path)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(kept)


def test_no_build_contains_a_fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layer is built without its dependencies; a function's folder is shipped as it is."""
    (tmp_path / "dependencies").mkdir()
    monkeypatch.setattr(layer, "dependencies", lambda _version: tmp_path / "dependencies")
    layer.build(tmp_path / "layer")
    folders = {function.code for function in Template.load().functions} | {tmp_path / "layer"}
    shipped = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    fakes = [path.read_text() for path in (layer.ROOT / "tests" / "fakes").glob("*.py")]
    names = {
        name for text in fakes for name in re.findall(r"^class (Memory\w+|Fixed\w+)", text, re.M)
    }
    assert len(names) > 5
    assert (tmp_path / "layer" / "python" / "skein" / "adapters" / "dynamodb.py").is_file()
    for text in shipped:
        assert not {name for name in names if name in text}


def test_the_layer_is_built_for_the_runtime_that_the_template_names() -> None:
    assert layer.runtime_version(TEMPLATE.read_text(encoding="utf-8")) == "3.11"


@pytest.mark.parametrize("text", ["", "  Runtime: python3.11\n  Runtime: python3.12\n"])
def test_a_template_that_names_no_single_runtime_is_refused(text: str) -> None:
    with pytest.raises(layer.BadTemplateError, match="one runtime"):
        layer.runtime_version(text)


def test_a_size_is_the_function_and_its_layers(tmp_path: Path) -> None:
    file(tmp_path / "layer" / "python" / "a.py", "x" * 30)
    file(tmp_path / "code" / "b.py", "x" * 12)
    template = Template(
        {
            "Resources": {
                "L": {
                    "Type": "AWS::Serverless::LayerVersion",
                    "Properties": {"ContentUri": "layer"},
                },
                "F": {
                    "Type": "AWS::Serverless::Function",
                    "Properties": {"CodeUri": "code", "Handler": "b.handler"},
                },
            }
        },
        tmp_path,
    )
    assert size.function_bytes(template) == {"F": 42}


class FakeSam:
    """Deploys a stack with one API, as the SAM CLI would."""

    def __init__(self, base_url: str = deploy.UNSET) -> None:
        self.base_url = base_url
        self.deployed: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> str:
        if command[1] == "deploy":
            self.deployed.append(list(command[2:]))
            for parameter in command:
                name, _, value = parameter.partition("=")
                if name == "PublicBaseUrl":
                    self.base_url = value
            return ""
        outputs = {"ApiUrl": "https://api", "PublicBaseUrl": self.base_url}
        return json.dumps([{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()])


def test_a_first_deployment_is_told_its_own_url() -> None:
    sam = FakeSam()
    found = deploy.deploy("sam", ["JwtAudience=skein"], sam)
    assert sam.deployed == [
        ["--parameter-overrides", "JwtAudience=skein"],
        ["--parameter-overrides", "JwtAudience=skein", "PublicBaseUrl=https://api"],
    ]
    assert found["PublicBaseUrl"] == "https://api"


def test_a_later_deployment_keeps_its_url() -> None:
    sam = FakeSam(base_url="https://texts.example")
    found = deploy.deploy("sam", [], sam)
    assert sam.deployed == [[]]
    assert found["PublicBaseUrl"] == "https://texts.example"
