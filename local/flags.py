"""The feature flags of a local stack: a file that anybody may edit while it runs."""

import json
from pathlib import Path

from local.errors import BadTemplateError
from local.template import Template


def first_flags(path: Path, template: Template) -> Path:
    """The file of the flags; if there is none yet, it begins as a deployment does.

    Raises:
        BadTemplateError: The template has no flags to begin with.
    """
    if path.exists():
        return path
    contents = [
        properties["Content"]
        for _, properties in template.resources("AWS::AppConfig::HostedConfigurationVersion")
    ]
    if len(contents) != 1:
        raise BadTemplateError(f"one set of flags is expected, there are {len(contents)}")
    path.write_text(json.dumps(json.loads(contents[0]), indent=2) + "\n", encoding="utf-8")
    return path
