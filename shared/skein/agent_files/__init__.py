"""An agent as a file: export, import, and the templates for new agents.

Other packages use `export.AgentExport`, `importing.AgentImport` and `templates`.
"""

__all__ = [
    "api",
    "export",
    "importing",
    "templates",
    "yaml_text",
]
