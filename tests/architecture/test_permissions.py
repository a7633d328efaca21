"""The roles of the functions: what each may do."""

from datetime import date
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any

import pytest

from local.permissions import RECEIVE, SEND, TOOL_SECRETS, denials_of, permissions_of
from local.template import Function, target
from skein.models.chats.chat import Chat
from skein.privacy.models.audit import AuditEntry
from tests.support.template import deployed_template

TEMPLATE = deployed_template()
FUNCTIONS = {function.logical_id: function for function in TEMPLATE.functions}
LOGICAL_ID = attrgetter("logical_id")
PERMISSIONS = {name: permissions_of(TEMPLATE, name) for name in FUNCTIONS}
ROLES = dict(TEMPLATE.resources("AWS::IAM::Role"))
STREAM = {
    f"dynamodb:{action}"
    for action in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
}
FOLDERS = ("incoming", "knowledge", "media")
CHANGES = {"dynamodb:DeleteItem", "dynamodb:UpdateItem"}


def properties(logical_id: str) -> dict[str, Any]:
    found: dict[str, Any] = TEMPLATE.document["Resources"][logical_id]["Properties"]
    return found


def queues_on(name: str, *actions: str) -> set[str]:
    return {resource for action, resource in PERMISSIONS[name] if action in actions}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_has_a_role_of_its_own_to_which_sam_adds_nothing(name: str) -> None:
    assert target(properties(name)["Role"]) == f"{name}Role"
    assert "Policies" not in properties(name)


def test_every_role_belongs_to_a_function() -> None:
    assert set(ROLES) == {f"{name}Role" for name in FUNCTIONS} | {"CanaryRole"}


def test_canary_role_is_for_code_deploy_alone() -> None:
    [statement] = ROLES["CanaryRole"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    [policy] = ROLES["CanaryRole"]["ManagedPolicyArns"]
    assert policy["Fn::Sub"].endswith("/AWSCodeDeployRoleForLambdaLimited")


@pytest.mark.parametrize("name", ROLES)
def test_role_may_have_a_permissions_boundary(name: str) -> None:
    boundary = {"Ref": "PermissionsBoundaryArn"}
    absent = {"Ref": "AWS::NoValue"}
    condition = {"Fn::If": ["HasPermissionsBoundary", boundary, absent]}
    assert ROLES[name]["PermissionsBoundary"] == condition


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=LOGICAL_ID)
def test_function_receives_and_deletes_on_its_own_queue_only(function: Function) -> None:
    own = {source.queue for source in function.queues}
    for action in RECEIVE:
        assert queues_on(function.logical_id, action) == own


def test_no_permission_has_a_wildcard() -> None:
    granted = {permission for name in FUNCTIONS for permission in PERMISSIONS[name]}
    assert granted
    # The secrets of tools are named after the stack and their tenant, as operators add them.
    named = {each for each in granted if each.resource == TOOL_SECRETS}
    assert {name for name in FUNCTIONS if named & PERMISSIONS[name]} == {"RunWorker", "AdminApi"}
    granted -= named
    bounded = {each for each in granted if not each.resource.endswith("/@connections/*")}
    assert granted - bounded == {
        each for each in granted if each.action == "execute-api:ManageConnections"
    }
    # SNS chooses the ids of devices; these are no topics.
    devices = {each for each in bounded if each.resource in {"app/*", "endpoint/*"}}
    assert {each.action.partition(":")[0] for each in devices} == {"sns"}
    bounded -= devices
    # The names of files are those of their chats and sources; the bucket has nothing else.
    files = {each for each in bounded if each.resource.startswith("MediaBucket/")}
    assert {each.resource for each in files} == {f"MediaBucket/{part}/*" for part in FOLDERS}
    bounded -= files
    assert not [each for each in bounded if "*" in each.action or "*" in each.resource]


def test_file_is_stored_by_who_uploads_checks_or_sends_it_and_deleted_by_who_erases() -> None:
    granted = {n: {a for a, r in PERMISSIONS[n] if r.startswith("MediaBucket")} for n in FUNCTIONS}
    writing, deleting = (
        {name for name, actions in granted.items() if f"s3:{action}Object" in actions}
        for action in ("Put", "Delete")
    )
    assert writing == {"MobileApi", "AdminApi", "RunWorker", "UpkeepWorker"}
    assert deleting == {"MobileApi", "AdminApi", "UpkeepWorker", "BackgroundWorker"}
    reading = {name for name, actions in granted.items() if "s3:GetObject" in actions}
    assert reading == {name for name, actions in granted.items() if "s3:ListBucket" in actions}
    assert ("s3:PutObject", "MediaBucket/media/*") not in PERMISSIONS["MobileApi"]


def test_no_function_may_scan_or_change_the_table_itself() -> None:
    actions = {action for name in FUNCTIONS for action, _ in PERMISSIONS[name]}
    assert {action for action in actions if action.startswith("dynamodb:")} == {
        "dynamodb:BatchGetItem",
        "dynamodb:ConditionCheckItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:SearchVectors",
        "dynamodb:UpdateItem",
    } | STREAM


def test_only_the_feed_reads_the_stream_and_it_queues_events() -> None:
    reading = {n for n in FUNCTIONS if STREAM & {action for action, _ in PERMISSIONS[n]}}
    assert reading == {"Feed"}
    granted = {each for each in PERMISSIONS["Feed"] if each.action.startswith("dynamodb:")}
    queues = {f"dynamodb:{action}" for action in ("PutItem", "Query", "UpdateItem")}
    table = {(action, "Table") for action in queues}
    assert granted == {(action, "Table/stream") for action in STREAM} | table


@pytest.mark.parametrize("function", [f for f in FUNCTIONS.values() if f.streams], ids=LOGICAL_ID)
def test_function_may_send_to_its_queue_for_failures(function: Function) -> None:
    failures = {source.failures for source in function.streams}
    assert failures <= queues_on(function.logical_id, SEND)


def test_function_that_does_not_use_the_table_has_no_permission_for_it() -> None:
    using = {n for n in FUNCTIONS if any(a.startswith("dynamodb:") for a, _ in PERMISSIONS[n])}
    assert set(FUNCTIONS) - using == {"ApiDocs", "Console"}


def test_only_the_background_worker_uses_the_erasure_register_and_it_only_adds() -> None:
    granted = {n: {a for a, r in PERMISSIONS[n] if r == "ErasureRegister"} for n in FUNCTIONS}
    assert {name: actions for name, actions in granted.items() if actions} == {
        "BackgroundWorker": {"dynamodb:PutItem"}
    }


def test_only_the_operators_api_reads_the_assigned_numbers_and_no_function_writes_them() -> None:
    granted = {n: {a for a, r in PERMISSIONS[n] if r == "AssignedNumbers"} for n in FUNCTIONS}
    assert {name: actions for name, actions in granted.items() if actions} == {
        "AdminApi": {"dynamodb:GetItem"}
    }


def test_only_the_tick_the_finders_and_operators_query_the_due_index() -> None:
    reading = {n for n in FUNCTIONS if ("dynamodb:Query", "Table/gsi2") in PERMISSIONS[n]}
    assert reading == {"AdminApi", "BackgroundFinder", "Tick"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_that_changes_items_may_not_change_the_audit_log(name: str) -> None:
    if not {action for action, _ in PERMISSIONS[name]} & CHANGES:
        return
    [denied] = denials_of(TEMPLATE, name)
    assert set(denied["Action"]) == CHANGES
    pattern = denied["Condition"]["ForAnyValue:StringLike"]["dynamodb:LeadingKeys"]
    entry = AuditEntry.partition("acme", date(2026, 2, 18))
    assert fnmatchcase(entry, pattern)
    hostile = Chat.key_of("a#AUDIT#b", "c#AUDIT#d").pk
    assert not fnmatchcase(hostile, pattern)


def test_functions_that_can_be_in_a_loop_of_jobs_are_exempt_from_loop_detection() -> None:
    readers = {source.queue: name for name, f in FUNCTIONS.items() for source in f.queues}
    sends_to = {
        name: {readers[queue] for queue in queues_on(name, SEND) if queue in readers}
        for name in FUNCTIONS
    }

    def reached(name: str) -> set[str]:
        found, left = set[str](), [name]
        while left:
            following = sends_to[left.pop()] - found
            found |= following
            left += following
        return found

    looping = {name for name in FUNCTIONS if name in reached(name)}
    exempt = {n for n in FUNCTIONS if properties(n).get("RecursiveLoop") == "Allow"}
    assert exempt == looping
    assert looping
