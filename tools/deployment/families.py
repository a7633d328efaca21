"""Expands the `Fn::ForEach` loops of `deployment/ops.yaml` into alarms, as CloudFormation does."""

from collections.abc import Mapping
from typing import Any

from local.template import ROOT, Template

OPS = ROOT / "deployment" / "ops.yaml"
FAMILY = "Fn::ForEach::"


def expanded(template: Template) -> Template:
    """Return a template in which each family is replaced by a resource for each of its members."""
    resources: dict[str, Any] = {}
    for name, body in template.document["Resources"].items():
        if name.startswith(FAMILY):
            identifier, members, fragment = body
            for member in members:
                resources |= _of_member(template, identifier, member).fill(fragment)
        else:
            resources[name] = body
    return Template({**template.document, "Resources": resources}, template.root)


def _of_member(template: Template, identifier: str, member: str) -> "_Expansion":
    return _Expansion(identifier, member, template.document.get("Mappings", {}))


class _Expansion:
    """Replaces the identifier of a family by one of its members.

    It also replaces lookups in mappings by the values.
    """

    def __init__(self, identifier: str, member: str, mappings: Mapping[str, Any]) -> None:
        self._identifier = identifier
        self._member = member
        self._mappings = mappings

    def fill(self, part: Any) -> Any:
        match part:
            case {"Ref": str(name)} if name == self._identifier:
                return self._member
            case {"Fn::FindInMap": path}:
                return self._looked_up(*(self.fill(each) for each in path))
            case {"Fn::Sub": [str(text), dict() as variables]}:
                filled = {str(k): str(self.fill(v)) for k, v in variables.items()}
                return self._text(text, filled)
            case {"Fn::Sub": str(text)}:
                return self._text(text, {})
            case dict():
                return {str(self._text(k, {})): self.fill(v) for k, v in part.items()}
        return [self.fill(each) for each in part] if isinstance(part, list) else part

    def _looked_up(self, mapping: str, key: str, name: Any) -> Any:
        """Return a value of a mapping.

        If only the deployment can tell the value's name, return the lookup itself
        (`Fn::FindInMap`).
        """
        if isinstance(name, str):
            return self._mappings[mapping][key][name]
        return {"Fn::FindInMap": [mapping, key, name]}

    def _text(self, text: str, variables: Mapping[str, str]) -> Any:
        """Return a text, or `Fn::Sub` if the deployment has to fill in further variables."""
        for name, value in {**variables, self._identifier: self._member}.items():
            text = text.replace(f"${{{name}}}", value)
        return {"Fn::Sub": text} if "${" in text else text
