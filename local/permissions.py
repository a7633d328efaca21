"""The permissions that the functions' roles have in the template.

When a function calls the tables, the queues, the connections of the live channel or the secrets,
the local stack checks that its role allows the call. So a missing permission is noticed before a
deployment.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from local.errors import BadTemplateError
from local.template import Template, target
from skein.correlation import current_invocation
from skein.models.common.file import FileUpload, SignedUpload, StoredFile
from skein.models.common.storage import Check, Delete, Item, Key, Page, Put, Query, Update, Write
from skein.models.common.vector_search import VectorSearch
from skein.models.delivery.notification import Notification, Platform
from skein.models.outbox.jobs import Job
from skein.ports import Files, MobilePush, Queues, Secrets, Sockets, Table, VectorIndex
from skein.settings import variable

RECEIVE = ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")
SEND = "sqs:SendMessage"
CONNECT = "execute-api:ManageConnections"  # the template has one API with connections
READ_SECRET = "secretsmanager:GetSecretValue"  # noqa: S105 - an action
SEARCH = "dynamodb:SearchVectors"
TOOL_SECRETS = "ToolSecrets"  # those of tenants' tools, which operators add
TOOL_SECRETS_END = ":secret:${AWS::StackName}-tools/*"
BUCKET = "MediaBucket"
VECTOR_INDEX = "recall"  # its name in the template
# The parameters of the parts that are off by default.
WITH_ALL = {
    "TwilioSecretArn": "twilio",
    "ApnsApplicationArn": "apns",
    "FcmApplicationArn": "fcm",
    "Widget": "on",
    "Edge": "on",
}
WRITE_ACTIONS: Mapping[type[Write], str] = {
    Put: "dynamodb:PutItem",
    Update: "dynamodb:UpdateItem",
    Delete: "dynamodb:DeleteItem",
    Check: "dynamodb:ConditionCheckItem",
}


class AccessDeniedError(Exception):
    """A function's role does not allow a call."""


class Permission(NamedTuple):
    """An action that is allowed on a resource.

    The resource is a logical id of the template; an index is added, as in `Table/gsi1`.
    """

    action: str
    resource: str


@dataclass(frozen=True)
class Permissions:
    """The permissions of each function.

    Attributes:
        allowed: The permissions of each function, by its logical id.
        table: The logical id of the table.
        queues: The logical ids of the queues, by the queue name that jobs have.
    """

    allowed: Mapping[str, frozenset[Permission]]
    table: str
    queues: Mapping[str, str]

    @classmethod
    def of(cls, template: Template) -> "Permissions":
        """Read the permissions of all functions."""
        variables = template.document["Globals"]["Function"]["Environment"]["Variables"]
        names = {queue.logical_id: queue.logical_id for queue in template.queues}
        urls = template.resolve(variables[variable("queue_urls")], names)
        return cls(
            allowed={
                function.logical_id: permissions_of(template, function.logical_id)
                for function in template.functions
            },
            table=template.table[0],
            queues=json.loads(urls),
        )

    def check(self, action: str, resource: str | None = None) -> None:
        """Check that the running function may call `action` on `resource`.

        When no function is running, everything is allowed.

        Args:
            resource: The logical id of the resource. If None, the permission for any one resource
                is enough.

        Raises:
            AccessDeniedError: The role of the function does not allow the call.
        """
        function = current_invocation().get("function_name")
        if function is None:
            return
        found = _resources(self.allowed.get(function, frozenset()), action)
        if found and resource in {*found, None}:
            return
        raise AccessDeniedError(f"{function} may not call {action} on {resource or 'anything'}")


@cache
def _resources(allowed: frozenset[Permission], action: str) -> frozenset[str]:
    """Return the resources on which an action is allowed."""
    return frozenset(each.resource for each in allowed if each.action == action)


@dataclass(frozen=True)
class PermittedTable:
    """A `Table` that refuses the calls that the running function may not make.

    Attributes:
        resource: The logical id of the table; None for the main table.
    """

    table: Table
    permissions: Permissions
    resource: str | None = None

    def get(self, key: Key) -> Item | None:
        self._check("dynamodb:GetItem")
        return self.table.get(key)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        self._check("dynamodb:BatchGetItem")
        return self.table.get_many(keys, consistent=consistent)

    def query(self, query: Query) -> Page:
        self._check("dynamodb:Query", query.index)
        return self.table.query(query)

    def write(self, write: Write) -> None:
        self._check(WRITE_ACTIONS[type(write)])
        self.table.write(write)

    def transact(self, writes: Sequence[Write]) -> None:
        for kind in {type(write) for write in writes}:
            self._check(WRITE_ACTIONS[kind])
        self.table.transact(writes)

    def _check(self, action: str, index: str | None = None) -> None:
        table = self.resource or self.permissions.table
        self.permissions.check(action, table if index is None else f"{table}/{index}")


@dataclass(frozen=True)
class PermittedVectors:
    """A `VectorIndex` that refuses the searches that the running function may not make."""

    vectors: VectorIndex
    permissions: Permissions

    def nearest(self, search: VectorSearch) -> list[Item]:
        self.permissions.check(SEARCH, f"{self.permissions.table}/{VECTOR_INDEX}")
        return self.vectors.nearest(search)


@dataclass(frozen=True)
class PermittedFiles:
    """`Files` that refuses the calls that the running function may not make.

    A signed URL is checked in the same way: it permits no more than the function that signed it.
    """

    files: Files
    permissions: Permissions

    def put(self, name: str, content: bytes, content_type: str) -> None:
        self._check("s3:PutObject", name)
        self.files.put(name, content, content_type)

    def get(self, name: str) -> bytes | None:
        self._check("s3:GetObject", name)
        return self.files.get(name)

    def head(self, name: str) -> StoredFile | None:
        self._check("s3:GetObject", name)
        return self.files.head(name)

    def delete(self, name: str) -> None:
        self._check("s3:DeleteObject", name)
        self.files.delete(name)

    def copy(self, source: str, target: str) -> bool:
        self._check("s3:GetObject", source)
        self._check("s3:PutObject", target)
        return self.files.copy(source, target)

    def upload_url(self, name: str, upload: FileUpload, *, seconds: int) -> SignedUpload:
        self._check("s3:PutObject", name)
        return self.files.upload_url(name, upload, seconds=seconds)

    def download_url(self, name: str, *, content_type: str, inline: bool, seconds: int) -> str:
        self._check("s3:GetObject", name)
        return self.files.download_url(
            name, content_type=content_type, inline=inline, seconds=seconds
        )

    def _check(self, action: str, name: str) -> None:
        self.permissions.check(action, f"{BUCKET}/{name.partition('/')[0]}/*")


@dataclass(frozen=True)
class PermittedQueues:
    """`Queues` that refuses the jobs that the running function may not send."""

    queues: Queues
    permissions: Permissions

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        for queue in {job.queue for job in jobs}:
            self.permissions.check(SEND, self.permissions.queues[queue])
        self.queues.send(jobs, delay_seconds=delay_seconds)


@dataclass(frozen=True)
class PermittedSockets:
    """`Sockets` that refuses the frames that the running function may not send."""

    sockets: Sockets
    permissions: Permissions

    def push(self, connection_id: str, text: str) -> None:
        self.permissions.check(CONNECT)
        self.sockets.push(connection_id, text)

    def close(self, connection_id: str) -> None:
        self.permissions.check(CONNECT)
        self.sockets.close(connection_id)


@dataclass(frozen=True)
class PermittedPush:
    """`MobilePush` that refuses the calls that the running function may not make."""

    push: MobilePush
    permissions: Permissions

    def register(self, platform: Platform, token: str) -> str:
        self.permissions.check("sns:CreatePlatformEndpoint")
        self.permissions.check("sns:SetEndpointAttributes")
        return self.push.register(platform, token)

    def forget(self, address: str) -> None:
        self.permissions.check("sns:DeleteEndpoint")
        self.push.forget(address)

    def notify(self, address: str, notification: Notification) -> None:
        self.permissions.check("sns:Publish")
        self.push.notify(address, notification)


@dataclass(frozen=True)
class PermittedSecrets:
    """`Secrets` that refuses the secrets that the running function may not read.

    Attributes:
        resources: Maps a secret's name to the parameter with the secret's ARN, or to the secret's
            logical id. All other secrets belong to tools.
    """

    secrets: Secrets
    permissions: Permissions
    resources: Mapping[str, str]

    def get(self, name: str) -> Mapping[str, str]:
        self.permissions.check(READ_SECRET, self.resources.get(name, TOOL_SECRETS))
        return self.secrets.get(name)


def permissions_of(template: Template, logical_id: str) -> frozenset[Permission]:
    """Return the permissions that a function's policies grant.

    `Deny` statements are not applied; `denials_of` returns them.
    """
    return frozenset(
        permission
        for statement in statements_of(template, logical_id)
        if statement["Effect"] == "Allow"
        for permission in _permissions(statement)
    )


def denials_of(template: Template, logical_id: str) -> list[Mapping[str, Any]]:
    """Return the `Deny` statements of a function's policies."""
    return [
        statement
        for statement in statements_of(template, logical_id)
        if statement["Effect"] == "Deny"
    ]


def statements_of(template: Template, logical_id: str) -> Iterator[Mapping[str, Any]]:
    """Yield the statements of all policies of a function's role.

    Raises:
        BadTemplateError: The function has no role, or a policy is not in the template.
    """
    function = dict(template.resources("AWS::Serverless::Function"))[logical_id]
    if "Role" not in function:  # SAM would make one, with AWS's policies for all queues and logs
        raise BadTemplateError(f"{logical_id} has no role")
    role = dict(template.resources("AWS::IAM::Role"))[str(target(function["Role"]))]
    managed = dict(template.resources("AWS::IAM::ManagedPolicy"))
    for policy in _chosen(template, role.get("ManagedPolicyArns", ())):
        if target(policy) not in managed:
            raise BadTemplateError(f"the policy {policy} is not in the template")
        yield from managed[str(target(policy))]["PolicyDocument"]["Statement"]
    for policy in role.get("Policies", ()):
        yield from _chosen(template, policy["PolicyDocument"]["Statement"])


def _chosen(template: Template, policies: Iterable[Any]) -> Iterator[Any]:
    """Yield the policies or statements that apply to a stack with all optional parts."""
    for policy in policies:
        match policy:
            case {"Fn::If": [condition, chosen, _]}:
                if template.resolve({"Fn::If": [condition, True, False]}, WITH_ALL):
                    yield chosen
            case _:
                yield policy


def _permissions(statement: Mapping[str, Any]) -> Iterator[Permission]:
    for action in _listed(statement["Action"]):
        for resource in _listed(statement["Resource"]):
            yield Permission(action, _name(resource))


def _name(resource: Any) -> str:
    """Return the logical id of a resource, with its index or stream if there is one.

    For an `Fn::If`, this is the name in a stack that creates the resource.
    """
    match resource:
        case {"Fn::If": [_, made, _]}:
            return _name(made)
        case {"Fn::Sub": [str(text), {**variables}]}:
            for variable_name, value in variables.items():
                text = text.replace(f"${{{variable_name}}}", _name(value))
            return text.replace("/index", "")
        case {"Fn::Sub": str(text)} if text.endswith(TOOL_SECRETS_END):
            return TOOL_SECRETS
        case {"Fn::Sub": str(text)}:
            text = text.rpartition(":")[2] if ":sns:" in text else text  # of devices
            return text.replace("${", "").replace(".Arn}", "").replace("/index", "")
        case {"Fn::GetAtt": name} if str(name).endswith(".StreamArn"):
            return f"{target(resource)}/stream"
    return str(target(resource))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
