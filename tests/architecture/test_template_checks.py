"""The checks of the template notice what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.template import deployed_template
from tools.deployment import template_checks


def template_without(tmp_path: Path, remove: str) -> Path:
    """Write the template without a resource's property: `<resource or *>.<property>`."""
    document: dict[str, Any] = dict(deployed_template().document)
    resources = {name: dict(each) for name, each in document["Resources"].items()}
    for each in resources.values():
        each["Properties"] = {k: v for k, v in each.get("Properties", {}).items() if k != remove}
        if remove == "DeletionPolicy":
            each.pop(remove, None)
    path = tmp_path / "template.yaml"
    path.write_text(json.dumps(document | {"Resources": resources}), encoding="utf-8")  # is YAML
    return path


def test_template_checks_template_passes(tmp_path: Path) -> None:
    assert "RunWorker" in template_checks.check(template_without(tmp_path, "nothing"))


@pytest.mark.parametrize("missing", ["RecursiveLoop", "VectorIndexes", "DeletionPolicy"])
def test_template_checks_without_a_property_fail(tmp_path: Path, missing: str) -> None:
    with pytest.raises(template_checks.WrongTemplateError):
        template_checks.check(template_without(tmp_path, missing))
