"""Routes of a tenant's skills, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ApiRouter, documented, no_content
from routes.audited import changes, creates, deletes, reads
from skein.bootstrap.api import services
from skein.models.api.documents import NewSkill, SkillBody, SkillLine, SkillList, SkillResource
from skein.models.workspace.skill import SkillHead, SkillName

router = ApiRouter()

Named = Annotated[SkillName, Path(description="The name of a skill.")]


@router.post(
    "/v1/skills",
    summary="Create a skill for the tenant's agents",
    tags=["skills"],
    status_code=201,
    responses=documented(201, SkillResource, 400, 409, 413),
    middlewares=creates("skill", made="name"),
)
def create_skill(new: NewSkill) -> SkillResource:
    """A tenant has at most 100 skills of its own."""
    head = SkillHead(**new.model_dump(exclude={"text"}))
    skill = services().skills.put(router.caller.tenant, head, new.text, only_new=True)
    return SkillResource.of(skill)


@router.get(
    "/v1/skills",
    summary="List skills by name",
    tags=["skills"],
    responses=documented(200, SkillList),
    middlewares=reads("skill"),
)
def list_skills() -> SkillList:
    """Lists the tenant's skills and the shipped ones, without their texts."""
    listed = services().skills.list(router.caller.tenant)
    items = tuple(SkillLine.listed(each.head, shipped=each.shipped) for each in listed)
    return SkillList(items=items)


@router.get(
    "/v1/skills/<name>",
    summary="Get a skill",
    tags=["skills"],
    responses=documented(200, SkillResource, 404),
    middlewares=reads("skill"),
)
def get_skill(name: Named) -> SkillResource:
    """Returns the tenant's skill, or else the shipped one."""
    return SkillResource.of(services().skills.get(router.caller.tenant, name))


@router.put(
    "/v1/skills/<name>",
    summary="Create or replace a tenant skill",
    tags=["skills"],
    responses=documented(200, SkillResource, 400, 404, 409, 413),
    middlewares=changes("skill"),
)
def put_skill(name: Named, new: SkillBody) -> SkillResource:
    """Replaces the skill of the same name, even a shipped one."""
    head = SkillHead(name=name, **new.model_dump(exclude={"text"}))
    return SkillResource.of(services().skills.put(router.caller.tenant, head, new.text))


@router.delete(
    "/v1/skills/<name>",
    summary="Delete a tenant skill",
    tags=["skills"],
    status_code=204,
    responses=documented(204, None, 404),
    middlewares=deletes("skill"),
)
def delete_skill(name: Named) -> Response[None]:
    """A shipped skill of the same name becomes visible again."""
    services().skills.delete(router.caller.tenant, name)
    return no_content()
