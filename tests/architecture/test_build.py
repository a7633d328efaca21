"""The build omits only what is not needed, and fetches only the expected files."""

import contextlib
import gzip
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from typing import Any

import pytest

from local.template import ROOT, TEMPLATE, Template
from skein.adapters.static_embeddings import LAYER_FOLDER, TOKENS, WEIGHTS
from tests.support.parameters import OTHER
from tests.support.reached_ports import reached_ports
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.template import deployed_template
from tools.deployment import deploy, layer, size
from tools.install import debian, runtime_python

# A finder that knows nothing of the packages and folders that the layer leaves out.
PRUNED = """
import sys

KEPT = {kept!r}
LEFT_OUT = {{"aiohttp", "aiohttp_retry", "attr", "attrs", "frozenlist", "multidict", "yarl"}}
FOLDERS = {folders!r}

class Pruned:
    def find_spec(self, name, path=None, target=None):
        parent, _, child = name.rpartition(".")
        if name in LEFT_OUT or (child in FOLDERS.get(parent, ()) and child not in KEPT[parent]):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Pruned())
"""
USE_TWILIO = """
from twilio.rest import Client
client = Client("AC0", "token")
assert client.messages.create and client.messages.list
"""
USE_OPENAI = """
from skein.adapters.openai.model import OpenAIModel
from openai.providers.bedrock import bedrock
assert bedrock(region="eu-west-1", access_key_id="a", secret_access_key="b")
from skein.models.runs.completion import ModelMessage, ModelRequest
model = OpenAIModel(api_key=lambda: "key", base_url={base_url!r})
request = ModelRequest(
    model="gpt-4.1-mini",
    messages=(ModelMessage(role="user", content="Hi"),),
    max_output_tokens=100,
    timeout_seconds=20,
)
assert model.complete(request).text == "Hello!"
assert model.models(seconds=20)
"""
USE_SDK = """
import os
import sys
sys.path.insert(0, {site!r})
os.environ.update(
    AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_DEFAULT_REGION="eu-central-1"
)
import botocore
from botocore.stub import Stubber
from skein.adapters.aws.clients import Aws
from skein.settings import Settings
assert botocore.__file__.startswith({site!r})
for service in {services!r}:
    client = Aws(Settings()).client(service, read_seconds=1, tries=1)
    assert client.meta.service_model.operation_names
    if service == "dynamodb":
        assert client.search_vectors
        with Stubber(client) as stub:
            stub.add_response("get_item", {{"Item": {{"pk": {{"S": "a"}}}}}})
            assert client.get_item(TableName="t", Key={{}})["Item"]
    if service == "sqs":
        with Stubber(client) as stub:
            stub.add_response("send_message_batch", {{"Successful": [], "Failed": []}})
            client.send_message_batch(QueueUrl="https://queue", Entries=[])
"""


OWN = layer.OWN_PACKAGES
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def pinned(text: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)[^\n]*==", text, re.MULTILINE))


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(layer.ROOT / "shared")},
    )
    assert done.returncode == 0, done.stderr


def folders_of(package: str) -> list[str]:
    spec = find_spec(package)
    assert spec is not None
    [folder] = spec.submodule_search_locations or [""]
    return [path.name for path in Path(folder).iterdir() if path.is_dir()]


def pruned() -> str:
    kept = {"twilio.rest": layer.TWILIO_DOMAINS} | {
        f"openai.{part}": names for part, names in layer.OPENAI_FOLDERS.items()
    }
    return PRUNED.format(kept=kept, folders={package: folders_of(package) for package in kept})


def file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_twilio_sends_and_finds_messages_with_the_pruned_layer() -> None:
    run(pruned() + USE_TWILIO)


@pytest.mark.check
def test_model_answers_with_the_pruned_layer() -> None:
    with ScriptedOpenAI() as model:
        model.say("Hello!")
        run(pruned() + USE_OPENAI.format(base_url=model.base_url))


@pytest.mark.check
def test_aws_clients_work_with_the_pruned_layer(tmp_path: Path) -> None:
    spec = find_spec("botocore")
    assert spec is not None
    [folder] = spec.submodule_search_locations or [""]
    shutil.copytree(folder, tmp_path / "botocore", copy_function=os.symlink)
    services = layer.aws_services()
    layer.prune_sdk(tmp_path, services)
    kept = {path.name for path in (tmp_path / "botocore" / "data").iterdir() if path.is_dir()}
    assert kept == set(services)
    run(USE_SDK.format(site=str(tmp_path), services=services))


def sdk(site: Path, operations: Sequence[str]) -> Path:
    """An SDK that knows two services."""
    for service in ("dynamodb", "sqs"):
        folder = site / "botocore" / "data" / service / "2012-08-10"
        folder.mkdir(parents=True)
        described = json.dumps({"operations": {name: {} for name in operations}}).encode()
        (folder / "service-2.json.gz").write_bytes(gzip.compress(described))
    return site


def test_sdk_without_vector_search_is_refused(tmp_path: Path) -> None:
    with pytest.raises(layer.SdkError, match="SearchVectors"):
        layer.prune_sdk(sdk(tmp_path, ["GetItem"]), ["dynamodb", "sqs"])


def test_sdk_without_a_service_that_the_code_uses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(layer.SdkError, match="does not know sns"):
        layer.prune_sdk(sdk(tmp_path, ["SearchVectors"]), ["dynamodb", "sns"])


def test_sdk_keeps_only_the_services_that_the_code_uses(tmp_path: Path) -> None:
    layer.prune_sdk(sdk(tmp_path, ["SearchVectors"]), ["dynamodb"])
    assert [path.name for path in (tmp_path / "botocore" / "data").iterdir()] == ["dynamodb"]


def test_aws_services_are_those_of_the_deployed_code(tmp_path: Path) -> None:
    assert layer.aws_services() == [
        "apigatewaymanagementapi",
        "bedrock-runtime",
        "dynamodb",
        "events",
        "s3",
        "secretsmanager",
        "sns",
        "sqs",
    ]
    file(tmp_path / "one.py", 'client = aws.client("sqs", tries=1)\nother = aws.client("sns")')
    assert layer.aws_services([tmp_path]) == ["sns", "sqs"]


def test_service_that_the_code_does_not_name_is_refused(tmp_path: Path) -> None:
    file(tmp_path / "one.py", "client = aws.client(service)")
    with pytest.raises(layer.SdkError, match=r"one\.py: line 1"):
        layer.aws_services([tmp_path])


def test_only_one_module_creates_clients_of_the_sdk() -> None:
    """Others would hide their service from the build."""
    using = {
        path.relative_to(folder.parent).as_posix()
        for folder in layer.DEPLOYED_CODE
        for path in folder.rglob("*.py")
        if re.search(r"create_client", path.read_text(encoding="utf-8"))
    }
    assert using == {"skein/adapters/aws/clients.py"}


def test_pruning_keeps_imported_files(tmp_path: Path) -> None:
    kept = [
        file(tmp_path / "twilio" / "rest" / "__init__.py"),
        file(tmp_path / "twilio" / "rest" / "api" / "v2010.py"),
        file(tmp_path / "openai" / "_client.py"),
        file(tmp_path / "openai" / "resources" / "models.py"),
        file(tmp_path / "openai" / "resources" / "chat" / "chat.py"),
        file(tmp_path / "openai" / "types" / "chat" / "message.py"),
        file(tmp_path / "openai-1.dist-info" / "METADATA"),
        file(tmp_path / "mcp" / "client" / "session.py"),
        file(tmp_path / "PIL" / "_webp.cpython-313-aarch64-linux-gnu.so"),
        file(tmp_path / "pillow.libs" / "libwebp-1.so"),
    ]
    file(tmp_path / "PIL" / "_avif.cpython-313-aarch64-linux-gnu.so")
    file(tmp_path / "pillow.libs" / "libavif-1.so")
    file(tmp_path / "mcp" / "server" / "session.py")
    file(tmp_path / "mcp" / "client" / "auth" / "oauth2.py")
    file(tmp_path / "twilio" / "rest" / "voice" / "v1.py")
    file(tmp_path / "openai" / "tests" / "test_client.py")
    file(tmp_path / "openai" / "resources" / "beta" / "beta.py")
    file(tmp_path / "openai" / "types" / "admin" / "key.py")
    file(tmp_path / "openai" / "_client.pyi")
    file(tmp_path / "openai-1.dist-info" / "RECORD")
    file(tmp_path / "bin" / "openai")
    layer.prune(tmp_path)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(kept)


def test_no_build_contains_a_fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layer is built without its dependencies; a function's folder is shipped as it is."""
    monkeypatch.setattr(layer, "compile_bytecode", lambda _site, _version: None)
    (tmp_path / "dependencies").mkdir()
    here = "{}.{}".format(*sys.version_info[:2])
    monkeypatch.setattr(layer, "runtime_version", lambda _template: here)
    monkeypatch.setattr(
        layer, "dependencies", lambda _part, _version, _platforms: tmp_path / "dependencies"
    )
    layer.build(tmp_path / "layer")
    folders = {function.code for function in deployed_template().functions} | {tmp_path / "layer"}
    shipped = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    fakes = [path.read_text() for path in (layer.ROOT / "tests" / "fakes").glob("*.py")]
    names = {
        name for text in fakes for name in re.findall(r"^class (Memory\w+|Fixed\w+)", text, re.M)
    }
    assert len(names) > 5
    assert (tmp_path / "layer/python/skein/adapters/dynamodb/table.py").is_file()
    shipped_files = {path.name for path in (tmp_path / "layer" / LAYER_FOLDER.name).iterdir()}
    assert shipped_files == {WEIGHTS, TOKENS, "LICENSE"}
    for text in shipped:
        assert not {name for name in names if name in text}


def test_the_layer_is_built_for_the_runtime_that_the_template_names() -> None:
    assert layer.runtime_version(TEMPLATE.read_text(encoding="utf-8")) == "3.13"


@pytest.mark.parametrize("text", ["", "  Runtime: python3.11\n  Runtime: python3.12\n"])
def test_a_template_that_names_no_single_runtime_is_refused(text: str) -> None:
    with pytest.raises(layer.BadTemplateError, match="one runtime"):
        layer.runtime_version(text)


def built_template(folder: Path) -> Template:
    """A layer of 30 bytes and a function of 12."""
    file(folder / "layer" / "python" / "a.py", "x" * 30)
    file(folder / "code" / "b.py", "x" * 12)
    return Template(
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
        folder,
    )


def test_a_size_is_the_function_and_its_layers(tmp_path: Path) -> None:
    assert size.function_bytes(built_template(tmp_path)) == {"F": 42}


def test_layer_and_functions_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = built_template(tmp_path)
    assert not list(size.too_large(template))
    assert (size.LAYER_LIMIT, size.LIMIT) == (110_000_000, 135_000_000)
    monkeypatch.setattr(size, "LAYER_LIMIT", 29)
    assert list(size.too_large(template)) == ["The layer has 0.0 MB, more than 0"]
    monkeypatch.setattr(size, "LIMIT", 41)
    assert len(list(size.too_large(template))) == 2


def test_every_pin_is_in_the_layer_or_in_a_function_that_has_packages_of_its_own() -> None:
    text = layer.REQUIREMENTS.read_text(encoding="utf-8")
    parts = {part: pinned(layer.requirements(text, part)) for part in OWN}
    in_layer = pinned(layer.requirements(text, layer.LAYER))
    assert not in_layer & set().union(*parts.values())
    assert in_layer.union(*parts.values()) == pinned(text)
    assert {part: {*names} for part, names in OWN.items()} == parts
    with pytest.raises(layer.BadPackageError, match="pillow"):
        layer.requirements(text.replace("\npillow==", "\nother=="), layer.LAYER)


def test_functions_with_packages_of_their_own_are_built_by_the_makefile() -> None:
    resources = deployed_template().document["Resources"]
    made = {name for name, each in resources.items() if "BuildMethod" in each.get("Metadata", {})}
    assert made == {layer.LAYER, *OWN}
    [targets] = re.findall(r"^BUILT := \$\(addprefix build-,(.*)\)$", MAKEFILE, re.MULTILINE)
    assert set(targets.split(",")[-1].split()) == made


def test_port_whose_library_is_not_in_the_layer_is_used_only_where_it_is() -> None:
    """By the types of the services that each function may build."""
    reached = {
        name: {function for function, ports in reached_ports().items() if name in ports}
        for name in ("media_reader", "identity_provider", "mcp_client")
    }
    assert reached == {
        "media_reader": {name for name in OWN if "pillow" in OWN[name]},
        "identity_provider": {name for name in OWN if "cryptography" in OWN[name]},
        "mcp_client": {name for name in OWN if "mcp" in OWN[name]},
    }


def binary(machine: int, *versions: str) -> bytes:
    """The start of a binary for a processor, with the versions of the C library that it needs."""
    header = b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little")
    return header + b"\0".join(f"GLIBC_{each}".encode() for each in versions)


def test_binary_of_another_processor_or_a_newer_c_library_is_named(tmp_path: Path) -> None:
    for name, content in {
        "good.so": binary(183, "2.17", "2.34"),
        "other.so": binary(62, "2.17"),
        "newer.so": binary(183, "2.17", "2.38"),
        "text.py": b"GLIBC_2.99",
    }.items():
        (tmp_path / name).write_bytes(content)
    assert list(size.wrong_binaries(tmp_path)) == [
        "newer.so needs glibc 2.38",
        "other.so is for the processor 62, not arm64 (183)",
    ]


class FakeSam:
    """Deploys a stack with one API, as the SAM CLI would."""

    def __init__(
        self, base_url: str = deploy.UNSET, protection: str = "off", *, fails: bool = False
    ) -> None:
        self.values = {"PublicBaseUrl": base_url, deploy.PROTECTION: protection}
        self.fails = fails
        self.subscriptions: dict[str, list[dict[str, str]]] = {}
        self.table: dict[str, Any] = {}
        self.deployed: list[list[str]] = []
        self.aws: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> str:
        if command[:3] == ["aws", "sns", "list-subscriptions-by-topic"]:
            return json.dumps({"Subscriptions": self.subscriptions[command[-1]]})
        if command[1:3] == ["dynamodb", "describe-table"]:
            return json.dumps({"Table": self.table})
        if command[0] == "aws":
            self.aws.append(list(command[2:]))
            return ""
        if command[1] == "deploy":
            self.deployed.append(list(command[2:]))
            self.aws.append(["deploy"])
            if self.fails:
                raise subprocess.CalledProcessError(1, command)
            for parameter in command:
                name, _, value = parameter.partition("=")
                if name in self.values:
                    self.values[name] = value.strip('"')
            return ""
        outputs = {"ApiUrl": "https://api", **self.values}
        return json.dumps([{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()])


TARGET = deploy.Target("skein", ("application=skein",))
OPTIONS = "--stack-name skein --s3-prefix skein --no-confirm-changeset --tags application=skein"


def test_first_deployment_sets_its_url_and_protects_the_tables_in_a_second_pass(
    tmp_path: Path,
) -> None:
    sam = FakeSam()
    given = ["JwtAudience=skein"]
    found = deploy.deploy("sam", TARGET, given, sam, tmp_path)
    again = [*given, "PublicBaseUrl=https://api", "TableDeletionProtection=on"]
    assert sam.deployed == [
        [*OPTIONS.split(), *deploy.overrides(tmp_path, parameters)] for parameters in (given, again)
    ]
    assert found["PublicBaseUrl"] == "https://api"


def test_a_later_deployment_keeps_its_url(tmp_path: Path) -> None:
    sam = FakeSam(base_url="https://texts.example", protection="on")
    found = deploy.deploy("sam", TARGET, [], sam, tmp_path)
    assert sam.deployed == [[*OPTIONS.split(), *deploy.overrides(tmp_path, [])]]
    assert found["PublicBaseUrl"] == "https://texts.example"


def test_deployment_without_parameter_turns_table_protection_on_again(tmp_path: Path) -> None:
    sam = FakeSam(base_url="https://texts.example")
    deploy.deploy("sam", TARGET, ["TableDeletionProtection=off"], sam, tmp_path)
    assert sam.values[deploy.PROTECTION] == "off"
    assert sam.aws == [["deploy"]]
    deploy.deploy("sam", TARGET, [], sam, tmp_path)
    assert sam.values[deploy.PROTECTION] == "on"
    termination, policy = sam.aws[-2:]
    assert termination[0] == "update-termination-protection"
    assert policy[:3] == ["set-stack-policy", "--stack-name", "skein"]
    denied = json.loads(policy[-1])["Statement"][1]
    assert denied["Action"] == ["Update:Replace", "Update:Delete"]


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ("JwtAudience=acme", 'JwtAudience="acme"'),
        ("CorsOrigins=", 'CorsOrigins=""'),
        ('ModelProviders={"a": "b"}', 'ModelProviders="{\\"a\\": \\"b\\"}"'),
    ],
)
def test_value_is_quoted_for_sam(tmp_path: Path, given: str, passed: str) -> None:
    assert passed in deploy.overrides(tmp_path, [given])


def test_address_whose_subscription_is_not_confirmed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sam = FakeSam()
    sam.values |= {"PageTopicArn": "arn:page", "TicketTopicArn": "arn:ticket"}
    confirmed = {"Endpoint": "a@example.com", "SubscriptionArn": "arn:page:1"}
    pending = {"Endpoint": "b@example.com", "SubscriptionArn": "PendingConfirmation"}
    sam.subscriptions = {"arn:page": [confirmed], "arn:ticket": [pending]}
    assert deploy.main(["sam"], sam, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "b@example.com gets no alarms" in printed
    assert "a@example.com" not in printed


def _warm(reads: int, writes: int) -> dict[str, Any]:
    return {
        "WarmThroughput": {
            "ReadUnitsPerSecond": reads,
            "WriteUnitsPerSecond": writes,
            "Status": "ACTIVE",
        }
    }


def test_warm_throughput_is_raised_where_it_is_lower_and_never_lowered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sam = FakeSam()
    sam.values["TableName"] = "skein-table"
    first = {"IndexName": "gsi1", **_warm(12_000, 4_000)}
    second = {"IndexName": "gsi2", **_warm(30_000, 12_000)}
    sam.table = {**_warm(30_000, 4_000), "GlobalSecondaryIndexes": [first, second]}
    assert deploy.main(["--warm", "20000,12000", "sam"], sam, tmp_path) == 0
    command, *options = sam.aws[-1]
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert (command, given["--table-name"]) == ("update-table", "skein-table")
    higher = {"ReadUnitsPerSecond": 30_000, "WriteUnitsPerSecond": 12_000}
    assert json.loads(given["--warm-throughput"]) == higher
    assert json.loads(given["--global-secondary-index-updates"]) == [
        {
            "Update": {
                "IndexName": "gsi1",
                "WarmThroughput": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 12_000},
            }
        }
    ]
    calls = len(sam.aws)
    sam.table = {**_warm(30_000, 12_000), "GlobalSecondaryIndexes": [second]}
    assert deploy.main(["--warm", "20000,12000", "sam"], sam, tmp_path) == 0
    assert "update-table" not in {command for command, *_ in sam.aws[calls:]}
    assert "the table was as warm before" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["20000", "20000,0", "20000,-1", "a,b", "1,2,3"])
def test_warm_throughput_needs_reads_and_writes(text: str) -> None:
    with pytest.raises(SystemExit):
        deploy.main(["--warm", text, "sam"], FakeSam())


def test_rollback_cannot_lower_the_warm_throughput() -> None:
    assert "WarmThroughput" not in (deploy.ROOT / "template.yaml").read_text(encoding="utf-8")


def test_parameter_without_a_value_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    sam = FakeSam()
    assert deploy.main(["sam", "JwtAudience=a", "b"], sam) == 1
    assert not sam.deployed
    assert "'b' is not Name=value" in capsys.readouterr().err


STREAM = "arn:aws:dynamodb:us-east-1:1:table/restored/stream/1"
CHECKS = "tools.deployment.checks"
SAM_PYTHON = ROOT / ".cache" / "sam" / "bin" / "python"
SAM_PARSER = """
import json, sys
from samcli.cli.types import CfnParameterOverridesType
convert = CfnParameterOverridesType().convert
print(json.dumps([convert(tuple(each), None, None) for each in json.load(sys.stdin)]))
"""


# What the pages leave to the reader.
FILLED = {
    "<the ARN in the answer>": OTHER["Edge"],
    "<resource>": "acme",
    "$CERTIFICATE": OTHER["CertificateArn"],
    "$STREAM": STREAM,
    "$TWILIO": OTHER["TwilioSecretArn"],
    "$OPENAI": OTHER["OpenaiSecretArn"],
    "$ISSUER": OTHER["JwtIssuer"],
    "$AUDIENCE": "skein",
    "$MAIL": "you@example.com",
}


def documented() -> list[tuple[str, str]]:
    """Return the parameters of all commands on the pages, as make and the shell pass them on."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    found = re.findall(r"PARAMETERS=(?:\"[^\"]*=[^\"]*\"|'[^']*')", pages)
    commands = {each for each in found if "Name=value" not in each}
    print_each = "PYTHON=\"printf '%s\\\\n'\""  # in place of the checks
    script = "\n".join(f"make -s deploy-checks {print_each} {each}" for each in sorted(commands))
    for name, value in FILLED.items():
        script = script.replace(name, value)
    done = subprocess.run(
        ["/bin/sh", "-ec", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    passed = [line for line in done.stdout.splitlines() if line not in {"-m", CHECKS}]
    return [(name, value) for name, _, value in (line.partition("=") for line in passed)]


@pytest.mark.slow  # makes one call of make for each command
def test_documented_parameters_are_accepted_as_the_shell_passes_them() -> None:
    declared = deployed_template().document["Parameters"]
    found = documented()
    assert {"ModelProviders", "JwtClaims", "ExistingTable", "AlarmEmail"} <= dict(found).keys()
    for name, value in found:
        accepted = declared[name].get("AllowedPattern", ".*")
        assert re.fullmatch(accepted, value), f"{name}={value}"
        assert value in map(str, declared[name].get("AllowedValues", [value])), f"{name}={value}"


@pytest.mark.slow  # needs the SAM CLI, which `make proofs` installs
def test_every_value_comes_back_from_the_parser_of_sam() -> None:
    values = [
        *OTHER.items(),
        *documented(),
        *((name, "") for name in OTHER),
        ("ModelProviders", '{"a": "https://a.example/v1", "b": "https://b.example"}'),
        ("JwtAudience", "two words"),
        ("ConsoleClientId", "it's"),
        ("CorsOrigins", "https://a.example,https://b.example"),
    ]
    pairs = [f"{name}={value}" for name, value in values]
    given = [[deploy.quoted(pair)] for pair in pairs] + [[*map(deploy.quoted, pairs[: len(OTHER)])]]
    run = subprocess.run(
        [SAM_PYTHON, "-c", SAM_PARSER],
        input=json.dumps(given),
        text=True,
        capture_output=True,
        check=True,
    )
    *each, together = json.loads(run.stdout)
    assert each == [{name: value} for name, value in values]
    assert together == OTHER


@pytest.mark.parametrize("fails", [False, True])
def test_stack_policy_is_lifted_for_a_restored_table_and_set_again(
    tmp_path: Path, *, fails: bool
) -> None:
    sam = FakeSam(base_url="https://texts.example", protection="on", fails=fails)
    with contextlib.suppress(subprocess.CalledProcessError):
        deploy.deploy("sam", TARGET, [f"ExistingTable={STREAM}"], sam, tmp_path)
    lifted, deployed, again = sam.aws[:3]
    assert json.loads(lifted[-1]) == deploy.ANY_UPDATE
    assert deployed == ["deploy"]
    assert json.loads(again[-1]) == deploy.STACK_POLICY


def test_stack_policy_stays_if_the_table_is_not_the_stacks(tmp_path: Path) -> None:
    sam = FakeSam(base_url="https://texts.example", protection="on")
    sam.values["OwnTable"] = "off"
    deploy.deploy("sam", TARGET, [f"ExistingTable={STREAM}"], sam, tmp_path)
    assert sam.aws[0] == ["deploy"]


def test_parameter_wins_over_that_of_its_profile(tmp_path: Path) -> None:
    sam = FakeSam()
    assert deploy.main(["--profile", "small", "sam", "Live=on"], sam, tmp_path) == 0
    assert {'Live="on"', 'Alarms="off"'} < {*sam.deployed[0]}
    assert 'Live="off"' not in sam.deployed[0]
    assert deploy.with_profile(None, ["A=1"]) == ["A=1"]


def test_release_changes_with_the_build_and_with_each_parameter(tmp_path: Path) -> None:
    file(tmp_path / "a" / "module.py", "X = 1")
    first = deploy.release(tmp_path, ["A=1", "B=2"])
    assert re.fullmatch("[0-9a-f]{40}", first)
    assert deploy.release(tmp_path, ["B=2", "A=1"]) == first
    file(tmp_path / "a" / "module.py", "X = 2")
    releases = {
        first,
        deploy.release(tmp_path, ["A=1", "B=2"]),
        deploy.release(tmp_path, ["A=1"]),
        deploy.release(tmp_path, ["A=1", "B=3"]),
    }
    assert len({each[:10] for each in releases}) == 4  # SAM takes ten digits for a version's name


def test_change_set_is_confirmed_once_for_both_deployments(tmp_path: Path) -> None:
    sam = FakeSam()
    deploy.deploy("sam", deploy.Target("skein", confirm=True), [], sam, tmp_path)
    confirmed = ["--confirm-changeset" in options for options in sam.deployed]
    assert confirmed == [True, False]


@pytest.mark.parametrize(
    ("stack", "environment", "name"),
    [
        ("", "", "skein"),
        ("", "staging", "skein-staging"),
        ("coach", "", "coach"),
        ("coach", "staging", "coach"),
    ],
)
def test_environment_has_a_stack_and_a_tag_of_its_own(
    stack: str, environment: str, name: str
) -> None:
    target = deploy.Target.of(stack=stack, environment=environment, tags=["team=a"], confirm=False)
    assert target.stack == name
    own = [f"environment={environment}"] if environment else []
    assert list(target.tags) == ["application=skein", *own, "team=a"]


@pytest.mark.parametrize("name", ["skein_staging", "1st", "a" * 101, "a b"])
def test_name_that_cloudformation_refuses_is_an_error(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sam = FakeSam()
    assert deploy.main(["--stack", name, "sam"], sam) == 1
    assert not sam.deployed
    assert "is no name of a stack" in capsys.readouterr().err


def test_deploy_prints_the_outputs_of_the_stack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sam = FakeSam()
    assert deploy.main(["--env", "staging", "--yes", "sam", "JwtAudience=a"], sam, tmp_path) == 0
    assert "ApiUrl                      https://api" in capsys.readouterr().out
    assert sam.deployed[0][:2] == ["--stack-name", "skein-staging"]


def interpreter(path: Path, version: str) -> str:
    """A program that answers as a Python of this version."""
    path.write_text(f"#!/bin/sh\necho {version} {path}\n", encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def test_build_uses_the_python_of_the_runtime(tmp_path: Path) -> None:
    newer = interpreter(tmp_path / "python3.14", "3.14")
    exact = interpreter(tmp_path / "python-of-the-runtime", "3.13")
    assert runtime_python.find([newer, exact], "3.13") == exact
    assert runtime_python.find(["no-such-python", exact], "3.13") == exact


def test_build_without_the_python_of_the_runtime_installs_it_from_debian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = interpreter(tmp_path / "python3.14", "3.14")
    installed: list[str] = []

    def install(version: str) -> Path:
        installed.append(version)
        return tmp_path / "python2.7"

    monkeypatch.setattr(runtime_python, "install", install)
    assert runtime_python.find_or_install([newer], "2.7") == str(tmp_path / "python2.7")
    assert installed == ["2.7"]


def test_build_where_the_python_of_the_runtime_cannot_be_installed_is_an_error(
    tmp_path: Path,
) -> None:
    newer = interpreter(tmp_path / "python3.14", "3.14")
    with pytest.raises(runtime_python.NoRuntimePythonError, match=r"needs Python 2\.7.*Debian"):
        runtime_python.find_or_install([newer], "2.7")


def test_debian_packages_come_from_the_mirror_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = tmp_path / "os-release"
    release.write_text("ID=debian\nVERSION_CODENAME=bookworm\n", encoding="utf-8")
    sources = "bookworm-security http://a/security\nbookworm http://a/debian\n"
    monkeypatch.setattr(debian, "command", lambda _arguments: sources)
    assert debian.mirror(release) == "http://a/debian"
    release.write_text("ID=ubuntu\nVERSION_CODENAME=noble\n", encoding="utf-8")
    with pytest.raises(debian.NoPackageError, match="no source"):
        debian.mirror(release)


def test_python_from_debian_finds_its_own_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The C library of the newer release is used, not the one of this machine."""
    root, target = tmp_path / "root", tmp_path / "target"
    libraries = f"usr/lib/{platform.machine()}-linux-gnu"
    file(root / libraries / "ld-linux-x.so.2", "")
    file(root / "usr" / "bin" / "python3.13", "")
    file(root / "usr" / "bin" / "patchelf", "")
    calls: list[list[str]] = []
    monkeypatch.setattr(debian, "command", calls.append)
    runtime_python.relocate(root, target, "3.13")
    loader, python = root / libraries / "ld-linux-x.so.2", str(root / "usr" / "bin" / "python3.13")
    program = [str(loader), "--library-path", str(root / libraries), str(root / "usr/bin/patchelf")]
    assert calls == [
        [*program, "--force-rpath", "--set-rpath", str(target / libraries), python],
        [*program, "--set-interpreter", str(target / libraries / loader.name), python],
    ]
    assert [path.name for path in (root / "usr" / "bin").iterdir()] == ["python3.13"]


def test_layer_is_never_built_without_bytecode_for_the_runtime(tmp_path: Path) -> None:
    file(tmp_path / "module.py", "X = 1")
    with pytest.raises(layer.WrongPythonError, match=r"needs Python 2\.7"):
        layer.compile_bytecode(tmp_path, "2.7")
    layer.compile_bytecode(tmp_path, "{}.{}".format(*sys.version_info[:2]))
    [compiled] = tmp_path.rglob("*.pyc")
    assert compiled.read_bytes()[:4] == MAGIC_NUMBER
