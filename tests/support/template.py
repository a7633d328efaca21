"""The deployment's template, read once in a process: reading takes a tenth of a second."""

from functools import cache

from local.template import Template


@cache
def deployed_template() -> Template:
    """Return the template; a test that changes the template loads one of its own."""
    return Template.load()
