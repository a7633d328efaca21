"""Expands the template as CloudFormation does, with AWS's own translator of SAM."""

import copy
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import boto3

from local.template import Template

FUNCTION, LAYER = "AWS::Serverless::Function", "AWS::Serverless::LayerVersion"
PACKAGE = "s3://bucket/package"
REGION = "us-east-1"

# Values that the template's patterns accept, for parameters without a default.
GIVEN = {
    "JwtIssuer": "https://issuer.example",
    "JwtAudience": "skein",
    "TwilioSecretArn": "arn:aws:secretsmanager:us-east-1:1:secret:twilio",
    "OpenaiSecretArn": "arn:aws:secretsmanager:us-east-1:1:secret:openai",
}


def expand(template: Template, **parameters: str) -> Mapping[str, Any]:
    """Return the resources of a template after expansion, by logical id.

    Args:
        template: The template. Its packages are treated as already uploaded.
        parameters: The values of parameters. All others have their defaults.
    """
    # The translator takes a fifth of a second to import.
    from samtranslator.parser.parser import Parser  # noqa: PLC0415
    from samtranslator.translator.translator import Translator  # noqa: PLC0415

    document = copy.deepcopy(dict(template.document))  # the translator changes what it reads
    document.pop("Outputs", None)
    document["Resources"] = {
        name: listed(_uploaded(resource)) for name, resource in document["Resources"].items()
    }
    values = template.parameters(GIVEN | parameters)
    # It copies the API's document for each route, in most of its time, and would change ours only.
    with _quiet(), patch("samtranslator.open_api.open_api._deepcopy", lambda body: body):
        translator = Translator(
            managed_policy_map={},
            sam_parser=Parser(),
            boto_session=boto3.Session(region_name=REGION),
        )
        expanded: Mapping[str, Any] = translator.translate(document, values)["Resources"]
    return expanded


def stack(template: Template, **parameters: str) -> dict[str, Any]:
    """Return the expanded template of one stack, with its conditions resolved.

    Args:
        template: The template. Its packages are treated as already uploaded.
        parameters: The values of parameters, which become the defaults in the expanded template.
    """
    values = template.parameters(GIVEN | parameters)
    document = {**template.document, "Resources": expand(template, **parameters)}
    on = {
        name: bool(template.resolve({"Condition": name}, values))
        for name in document.pop("Conditions", {})
    }
    for part in ("Transform", "Globals"):
        document.pop(part, None)
    for part in ("Resources", "Outputs"):
        document[part] = {
            name: {key: _chosen(one, on) for key, one in each.items() if key != "Condition"}
            for name, each in document.get(part, {}).items()
            if on.get(each.get("Condition"), True)
        }
    document["Parameters"] = {
        name: {**declared, "Default": type(declared.get("Default", ""))(values[name])}
        for name, declared in document["Parameters"].items()
    }
    return document


def references(value: Any) -> Iterator[str]:
    """Yield the names that a part of a template refers to."""
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": name}:
            yield (name if isinstance(name, str) else str(name[0])).split(".")[0]
        case {"Fn::Sub": argument}:
            text, own = argument if isinstance(argument, list) else (argument, {})
            yield from references(own)
            names = re.findall(r"\$\{([^}!]+)\}", text)
            yield from (name.split(".")[0] for name in names if name not in own)
        case dict():
            for part in value.values():
                yield from references(part)
        case list():
            for part in value:
                yield from references(part)


def circular(resources: Mapping[str, Any]) -> set[str]:
    """Return the resources that depend on themselves, also through others or update policies.

    CloudFormation refuses a template with such resources. A dependency is a `DependsOn` or any
    reference, also one in `UpdatePolicy`.
    """
    needs = {
        name: {*references(each), *_named(each.get("DependsOn", []))} & resources.keys()
        for name, each in resources.items()
    }
    done: set[str] = set()
    while ready := {name for name in needs.keys() - done if needs[name] <= done}:
        done |= ready
    left = needs.keys() - done
    # What needs a circle is left, too. Only a circle is needed by what is left.
    while unneeded := left - {each for name in left for each in needs[name]}:
        left -= unneeded
    return left


def _named(depends_on: str | list[str]) -> list[str]:
    return [depends_on] if isinstance(depends_on, str) else depends_on


NO_VALUE = {"Ref": "AWS::NoValue"}


def _chosen(value: Any, on: Mapping[str, bool]) -> Any:
    """Return a part of a template with each condition replaced by the branch that applies."""
    match value:
        case {"Fn::If": [str(condition), yes, no]}:
            return _chosen(yes if on[condition] else no, on)
        case dict():
            parts = {key: _chosen(part, on) for key, part in value.items()}
            return {key: part for key, part in parts.items() if part != NO_VALUE}
        case list():
            return [one for one in (_chosen(part, on) for part in value) if one != NO_VALUE]
    return value


def listed(value: Any) -> Any:
    """Return a part with each `Fn::GetAtt` as a list, as the SAM CLI reads the short tag."""
    match value:
        case {"Fn::GetAtt": str(name)}:
            return {"Fn::GetAtt": name.split(".", 1)}
        case dict():
            return {key: listed(part) for key, part in value.items()}
        case list():
            return [listed(part) for part in value]
    return value


def _uploaded(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource with its package in a bucket, as it is after `sam package`."""
    uri = {FUNCTION: "CodeUri", LAYER: "ContentUri"}.get(resource["Type"])
    properties = dict(resource.get("Properties", {}))
    if uri is not None and not isinstance(properties.get(uri), dict):
        properties[uri] = PACKAGE
    return {**resource, "Properties": properties}


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the translator's warnings about its own metrics and feature switches."""
    logger = logging.getLogger("samtranslator")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
