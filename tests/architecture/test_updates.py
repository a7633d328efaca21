"""What an update deletes or replaces, for each procedure of the docs that changes parameters.

A stack policy denies some of it, and CloudFormation replaces a resource if a property changes that
can only be set at creation. Both are known before a deployment, from two expansions and from AWS's
registry of resource types.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from tests.support.parameters import OTHER
from tests.support.template import deployed_stack, deployed_template
from tools.deployment import deploy
from tools.deployment.expansion import REGION

TEMPLATE = deployed_template()
# What has an address outside of the stack, or holds data that a new one would not have.
LASTING = (
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::SecretsManager::Secret",
    "AWS::SQS::Queue",
    "AWS::Logs::LogGroup",
    "AWS::ApiGatewayV2::Api",
    "AWS::Lambda::Function",
    "AWS::Lambda::Url",
)
STREAM = "arn:aws:dynamodb:us-east-1:1:table/restored/stream/1"
RESTORED = {"ExistingTable": STREAM}
BACK = {"ExistingTable": STREAM.replace("restored", "skein-Table-1A")}
DOMAINS = {
    "CertificateArn": "arn:aws:acm:us-east-1:1:certificate/1",
    "ApiDomain": "api.example",
    "LiveDomain": "live.example",
}
PROTECTED = {deploy.PROTECTION: "on"}
# Before, after, and what the update deletes, by the name of the procedure.
PROCEDURES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str], set[str]]] = {
    "second pass": ({}, {"PublicBaseUrl": "https://api.example", **PROTECTED}, set()),
    "new release": ({"Release": "a"}, {"Release": "b"}, set()),
    "restore": ({}, RESTORED, {"Table"}),
    "back to the old table": (RESTORED, BACK, set()),
    "key": ({}, {"KeyArn": "arn:aws:kms:us-east-1:1:key/1"}, set()),
    "domains": ({}, DOMAINS, set()),
    "backups": ({}, {"BackupVaultArn": "arn:aws:backup:eu-west-1:2:backup-vault:a"}, set()),
    "SnapStart": ({}, {"SnapStart": "on"}, set()),
    "CloudFront": ({}, {"Edge": "on"}, set()),
    "provisioned capacity": ({"Size": "large"}, {"Size": "provisioned"}, set()),
    "no vector index": ({}, {"Recall": "words"}, set()),
    "small to default": (deploy.PROFILES["small"], {}, set()),
    "default to small": (
        {},
        deploy.PROFILES["small"],
        {"LiveApi", "LiveConnect", "LiveDisconnect", "LiveFrames", "PushWorker", "ServiceWebhook"}
        | {"ServicesSecret"},
    ),
}


def resources(procedure: str, side: int) -> Mapping[str, Any]:
    before, after, _ = PROCEDURES[procedure]
    found: Mapping[str, Any] = deployed_stack(**(after if side else before))["Resources"]
    return found


@cache
def only_at_creation(type_: str) -> list[list[str]]:
    """Return the paths of a type's properties whose change replaces the resource."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, type_).schema
    names = (
        *schema.get("createOnlyProperties", ()),
        *schema.get("conditionalCreateOnlyProperties", ()),
    )
    return [name.removeprefix("/properties/").split("/") for name in names]


def value(properties: Any, path: list[str]) -> Any:
    for name in path:
        properties = properties.get(name) if isinstance(properties, Mapping) else None
    return properties


def replaced(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        for path in only_at_creation(old["Type"]) if old["Type"] in LASTING else ():
            if value(old["Properties"], path) != value(new["Properties"], path):
                yield name


def denied(before: Mapping[str, Any], gone: set[str]) -> set[str]:
    """Return what the stack policy keeps of what an update deletes or replaces."""
    [types] = [
        each["Condition"]["StringEquals"]["ResourceType"]
        for each in deploy.STACK_POLICY["Statement"]
        if each["Effect"] == "Deny"
    ]
    return {name for name in gone if before[name]["Type"] in types}


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_update_procedure_deletes_only_documented_resources_and_replaces_none(
    procedure: str,
) -> None:
    before, after = resources(procedure, 0), resources(procedure, 1)
    lasting = {name for name, each in before.items() if each["Type"] in LASTING}
    assert lasting - after.keys() == PROCEDURES[procedure][2]
    assert not set(replaced(before, after))


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_stack_policy_is_lifted_only_for_procedures_that_it_blocks(procedure: str) -> None:
    before, after, deletes = PROCEDURES[procedure]
    outputs = {"OwnTable": "off" if "ExistingTable" in before else "on", **PROTECTED}
    given = [f"{name}={each}" for name, each in after.items()]
    blocked = denied(resources(procedure, 0), deletes)
    assert deploy.leaves_table(given, outputs) is bool(blocked)


# What one parameter deletes: the part that it turns off.
PARTS: Mapping[str, set[str]] = {
    "ServeConsole": {"Console"},
    "Live": {"LiveApi", "LiveConnect", "LiveDisconnect", "LiveFrames", "PushWorker"},
    "Services": {"ServiceWebhook", "ServicesSecret"},
    "ExistingTable": {"Table"},
}


@pytest.mark.slow  # half a second each
@pytest.mark.parametrize("name", OTHER)
def test_parameter_deletes_only_its_part_and_replaces_nothing_that_lasts(name: str) -> None:
    before = deployed_stack()["Resources"]
    after = deployed_stack(**{name: OTHER[name]})["Resources"]
    lasting = {key for key, each in before.items() if each["Type"] in LASTING}
    assert lasting - after.keys() == PARTS.get(name, set())
    assert not {*replaced(before, after), *replaced(after, before)}


def test_property_that_is_set_at_creation_replaces_the_resource() -> None:
    before = {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "a"}}}
    after = {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "b"}}}
    assert list(replaced(before, after)) == ["Table"]
    assert denied(before, {"Table"}) == {"Table"}
