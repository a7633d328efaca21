"""Routes of a tenant's skills, for operators (function `admin_api`)."""

from operator import attrgetter
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.workspace.api.documents import NewSkill, SkillBody, SkillLine, SkillList, SkillResource
from skein.workspace.models.skill import Skill, SkillHead, SkillName
from skein.workspace.skills import Skills

router = ApiRouter("skills", "skill", made="name", role="support", writes="owner")

Named = Annotated[SkillName, Path(description="The name of a skill.")]


@router.post("/v1/skills", "Create a skill for the tenant's agents", 409)
def create_skill(new: NewSkill) -> SkillResource:
    """A tenant has at most 100 skills of its own."""
    head = SkillHead(**new.model_dump(exclude={"text", "public"}))
    tenant, skills = router.caller.tenant, service(Skills)
    skill = router.once(
        Skill,
        lambda: skills.put(tenant, head, new.text, public=new.public, only_new=True),
        lambda name: skills.get(tenant, name),
        id_of=attrgetter("name"),
    )
    return SkillResource.of(skill)


@router.get("/v1/skills", "List skills by name")
def list_skills() -> SkillList:
    """Lists the tenant's skills and the shipped ones, without their texts."""
    listed = service(Skills).list(router.caller.tenant)
    items = tuple(SkillLine.listed(each.head, shipped=each.shipped) for each in listed)
    return SkillList(items=items, next_cursor=None)


@router.get("/v1/skills/<name>", "Get a skill")
def get_skill(name: Named) -> SkillResource:
    """Returns the tenant's skill, or else the shipped one."""
    return SkillResource.of(service(Skills).get(router.caller.tenant, name))


@router.put("/v1/skills/<name>", "Create or replace a tenant skill", 409)
def put_skill(name: Named, new: SkillBody) -> SkillResource:
    """Replaces the skill of the same name, even a shipped one."""
    head = SkillHead(name=name, **new.model_dump(exclude={"text", "public"}))
    skill = service(Skills).put(router.caller.tenant, head, new.text, public=new.public)
    return SkillResource.of(skill)


@router.delete("/v1/skills/<name>", "Delete a tenant skill")
def delete_skill(name: Named) -> Response[None]:
    """A shipped skill of the same name becomes visible again."""
    service(Skills).delete(router.caller.tenant, name)
    return no_content()
