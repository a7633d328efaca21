"""Read and check the message templates in a tenant's settings."""

from skein.errors import Unprocessable
from skein.models.config.overrides import Overrides, TenantOnlySettings, TenantSettings
from skein.models.config.templates import MessageTemplate
from skein.ports import Table


def templates_of(tenant: Overrides) -> tuple[MessageTemplate, ...]:
    """Return the message templates in a tenant's overrides."""
    given = {"message_templates": tenant.get("message_templates", ())}
    return TenantOnlySettings.model_validate(given).message_templates


def check_template(table: Table, tenant: str, content_sid: str) -> None:
    """Check that a plan or an outreach can use a template to send a message.

    Raises:
        Unprocessable: The tenant's settings do not list the template, or the template is not
            approved or has buttons.
    """
    item = table.get(TenantSettings.key_of(tenant))
    known = templates_of(TenantSettings.from_optional(item))
    if not any(
        each.content_sid == content_sid and each.approved and not each.buttons for each in known
    ):
        raise Unprocessable("message_templates has no such approved template without buttons")
