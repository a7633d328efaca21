"""Routes of sharing rules, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import Limit, PageCursor
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.models.visibility.sharing_rules import RulesVersion
from skein.services.common.pagination import DEFAULT_PAGE
from skein.sharing.api import (
    NewSharingRule,
    RulesVersionPage,
    SharingRuleChange,
    SharingRulePage,
    SharingRuleResource,
)
from skein.sharing.rules import RuleChanges

router = ApiRouter("sharing", "sharing", role="support", writes="owner")

RuleId = Annotated[EntityId, Path(description="The id of a sharing rule.")]


@router.post("/v1/sharing-rules", "Create a sharing rule", 409)
def create_sharing_rule(new: NewSharingRule) -> SharingRuleResource:
    """People with the role in `from` get a notice of the rule in their chats.

    Agents may tell readers only what these people say after the notice.
    """
    caller = router.caller
    rules = service(RuleChanges)
    rule = router.once(
        RulesVersion,
        lambda: rules.add(caller.tenant, new, by=caller.user_id),
        lambda rule_id: rules.get(caller.tenant, rule_id),
        id_of=lambda version: str(version.rules[-1].id),
    )
    return SharingRuleResource.of(rule)


@router.get("/v1/sharing-rules", "List sharing rules, oldest first")
def list_sharing_rules() -> SharingRulePage:
    """Deleted rules are omitted. A tenant has at most 100 rules."""
    rules = service(RuleChanges).read(router.caller.tenant).rules
    return SharingRulePage(items=tuple(map(SharingRuleResource.of, rules)), next_cursor=None)


@router.get("/v1/sharing-rules/versions", "List versions of the sharing rules, newest first")
def list_sharing_versions(
    limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> RulesVersionPage:
    """Each change of a rule creates a new version, which contains all rules."""
    tenant = router.caller.tenant
    return RulesVersionPage.of(service(RuleChanges).versions(tenant, limit=limit, cursor=cursor))


@router.get("/v1/sharing-rules/<rule_id>", "Get a sharing rule")
def get_sharing_rule(rule_id: RuleId) -> SharingRuleResource:
    """Recently deleted rules are found, too."""
    return SharingRuleResource.of(service(RuleChanges).get(router.caller.tenant, rule_id))


@router.patch("/v1/sharing-rules/<rule_id>", "Update a sharing rule", 409)
def change_sharing_rule(rule_id: RuleId, change: SharingRuleChange) -> SharingRuleResource:
    """Only the name, the reason and the end can change."""
    caller = router.caller
    rule = service(RuleChanges).change(caller.tenant, rule_id, change.given, by=caller.user_id)
    return SharingRuleResource.of(rule)


@router.delete("/v1/sharing-rules/<rule_id>", "Delete a sharing rule", 409)
def delete_sharing_rule(rule_id: RuleId) -> Response[None]:
    """Agents stop using the rule at once, also in current runs. Messages they sent stay."""
    caller = router.caller
    service(RuleChanges).withdraw(caller.tenant, rule_id, by=caller.user_id)
    return no_content()
