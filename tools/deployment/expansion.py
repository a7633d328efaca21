"""Expansion of the template by AWS's own translator of SAM, as CloudFormation does it."""

import copy
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

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
        template: The template; its packages count as uploaded.
        parameters: The values of parameters; others have their defaults.
    """
    # The translator takes a fifth of a second to import.
    from samtranslator.parser.parser import Parser  # noqa: PLC0415
    from samtranslator.translator.translator import Translator  # noqa: PLC0415

    document = copy.deepcopy(dict(template.document))  # the translator changes what it reads
    document.pop("Outputs", None)
    document["Resources"] = {
        name: _listed(_uploaded(resource)) for name, resource in document["Resources"].items()
    }
    values = template.parameters(GIVEN | parameters)
    with _quiet():
        translator = Translator(
            managed_policy_map={},
            sam_parser=Parser(),
            boto_session=boto3.Session(region_name=REGION),
        )
        expanded: Mapping[str, Any] = translator.translate(document, values)["Resources"]
    return expanded


def _listed(value: Any) -> Any:
    """Return a part with `Fn::GetAtt` as lists, which is how the SAM CLI reads the short tag."""
    match value:
        case {"Fn::GetAtt": str(name)}:
            return {"Fn::GetAtt": name.split(".", 1)}
        case dict():
            return {key: _listed(part) for key, part in value.items()}
        case list():
            return [_listed(part) for part in value]
    return value


def _uploaded(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource whose package is in a bucket, as `sam package` leaves it."""
    uri = {FUNCTION: "CodeUri", LAYER: "ContentUri"}.get(resource["Type"])
    properties = dict(resource.get("Properties", {}))
    if uri is not None:
        properties[uri] = PACKAGE
    return {**resource, "Properties": properties}


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the translator's warnings about its own metrics and feature switches."""
    logger = logging.getLogger("samtranslator")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
