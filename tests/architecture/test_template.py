"""The deployment keeps its promises: read from `template.yaml` itself."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from operator import attrgetter
from typing import Any, get_args

import pytest

from local.permissions import permissions_of
from local.polling.event_filters import EventFilters
from local.template import NUMBERS, REGISTER, ROOT, Function
from skein.adapters.aws.rules import VECTORS
from skein.channels.registry import PROVIDERS
from skein.models.common.vector_search import DIMENSIONS
from skein.models.outbox.jobs import QueueName
from skein.settings import PREFIX, Settings, variable
from tests.support.template import deployed_template
from tools.deployment.expansion import expand

TEMPLATE = deployed_template()
GLOBALS = TEMPLATE.document["Globals"]["Function"]
FUNCTIONS = {function.logical_id: function for function in TEMPLATE.functions}
LOGICAL_ID = attrgetter("logical_id")
QUEUES = {queue.logical_id: queue for queue in TEMPLATE.queues}
WORK_QUEUES = [queue for queue in TEMPLATE.queues if queue.dead_letters]
PERMISSIONS = {name: permissions_of(TEMPLATE, name) for name in FUNCTIONS}
STREAMS = [source for function in TEMPLATE.functions for source in function.streams]
STREAM_SECONDS = 24 * 3600  # how long a stream keeps changes
MAX_FILTERS = 5  # of an event source, without a request to AWS

# A deployed function reaches AWS's own endpoints.
UNSET_ON_AWS = {"aws_endpoint_url"}
# Their defaults are for one machine.
LOCAL_DEFAULTS = {"table_name", "public_base_url"}


STREAM = "arn:aws:dynamodb:eu-central-1:1:table/restored/stream/1"
KEY = "arn:aws:kms:eu-central-1:1:key/1"


def encryption(table: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the key of a table without and with a customer's key; None for DynamoDB's own."""
    own = TEMPLATE.resolve(table["SSESpecification"], {})
    with_key = TEMPLATE.resolve(table["SSESpecification"], {"KeyArn": KEY})
    assert (with_key["SSEEnabled"], with_key["SSEType"]) == (True, "KMS")
    return own, with_key["KMSMasterKeyId"]


def properties(logical_id: str) -> dict[str, Any]:
    found: dict[str, Any] = TEMPLATE.document["Resources"][logical_id]["Properties"]
    return found


def queue_urls(**parameters: str) -> dict[str, str]:
    """Return the URLs that functions get; here, a queue's logical id is its URL."""
    urls = GLOBALS["Environment"]["Variables"]["SKEIN_QUEUE_URLS"]
    names = {name: name for name in QUEUES}
    found: dict[str, str] = json.loads(TEMPLATE.resolve(urls, names | parameters))
    return found


def test_all_queues_of_work_share_one_for_dead_letters_and_each_stream_has_its_own() -> None:
    dead = {queue.dead_letters for queue in WORK_QUEUES}
    assert len(WORK_QUEUES) == 7
    assert dead == {"DeadLetters"}
    given_up = {source.failures for source in STREAMS}
    assert len(given_up) == len(STREAMS)
    work = {queue.logical_id for queue in WORK_QUEUES}
    assert dead | given_up | work == set(QUEUES)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS.values() if f.streams], ids=LOGICAL_ID)
def test_function_on_the_stream_reports_failures_and_gives_up_in_time(function: Function) -> None:
    [source] = function.streams
    assert source.partial_failures
    assert source.bisects
    assert source.max_retries is not None
    assert source.max_age is not None
    assert source.max_age < STREAM_SECONDS
    [event] = properties(function.logical_id)["Events"].values()
    assert event["Properties"]["StartingPosition"] == "TRIM_HORIZON"  # misses no change
    assert event["Properties"]["ParallelizationFactor"] == 1  # keeps the order in a partition
    assert len(source.patterns) <= MAX_FILTERS
    EventFilters(source.patterns)


def test_stream_has_the_item_before_and_after_each_change() -> None:
    _, create = TEMPLATE.table
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert create["StreamSpecification"] == stream


@pytest.mark.parametrize("queue", WORK_QUEUES, ids=lambda queue: queue.logical_id)
def test_a_message_stays_hidden_for_six_times_as_long_as_its_function_may_take(queue: Any) -> None:
    readers = [
        function
        for function in FUNCTIONS.values()
        if queue.logical_id in {source.queue for source in function.queues}
    ]
    assert len(readers) == 1
    assert queue.visibility >= 6 * readers[0].timeout


@pytest.mark.parametrize("logical_id", QUEUES)
def test_a_queue_is_encrypted(logical_id: str) -> None:
    assert properties(logical_id)["SqsManagedSseEnabled"] is True


@pytest.mark.parametrize("function", [f for f in FUNCTIONS.values() if f.queues], ids=LOGICAL_ID)
def test_a_worker_reports_which_messages_failed(function: Function) -> None:
    assert all(source.partial_failures for source in function.queues)


@pytest.mark.parametrize("logical_id", FUNCTIONS)
def test_a_function_logs_to_a_group_that_forgets(logical_id: str) -> None:
    logging = {**GLOBALS["LoggingConfig"], **properties(logical_id).get("LoggingConfig", {})}
    assert logging["LogFormat"] == "JSON"
    assert properties(logging["LogGroup"]["Ref"])["RetentionInDays"]


def test_every_handler_is_deployed_and_every_function_has_one() -> None:
    handlers = {
        f"{path.stem}.handler"
        for path in (ROOT / "functions").glob("*.py")
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "handler"
            for node in ast.parse(path.read_text(encoding="utf-8")).body
        )
    }
    assert handlers == {function.handler for function in FUNCTIONS.values()}


def test_every_variable_is_a_setting_and_every_setting_that_needs_a_value_gets_one() -> None:
    given = {
        name
        for function in FUNCTIONS.values()
        for name in function.environment
        if name.startswith(PREFIX)
    }
    needed = {
        variable(name)
        for name, field in Settings.model_fields.items()
        if field.default == "" or name in LOCAL_DEFAULTS
    }
    assert given <= {variable(name) for name in Settings.model_fields}
    assert needed <= given
    assert not given & {variable(name) for name in UNSET_ON_AWS}


def test_every_queue_of_jobs_has_an_url() -> None:
    assert set(queue_urls()) == set(get_args(QueueName))


def test_small_stack_has_the_jobs_of_files_in_the_queue_of_upkeep() -> None:
    """Its account may run ten functions at once, and each queue that is polled takes two."""
    media = properties("UpkeepWorker")["Events"]["Media"]["Properties"]
    for size, queue in {"small": "UpkeepQueue", "standard": "MediaQueue"}.items():
        assert queue_urls(Size=size)["media"] == queue
        assert TEMPLATE.resolve(media["Enabled"], {"Size": size}) == (queue == "MediaQueue")


def test_queues_and_buckets_refuse_unencrypted_requests() -> None:
    resources = TEMPLATE.document["Resources"]
    stores = {"AWS::SQS::Queue", "AWS::S3::Bucket"}
    closed = {
        queue["Ref"]
        for resource in resources.values()
        if resource["Type"] in {"AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy"}
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Principal"] == "*"
        and statement["Action"] in {"sqs:*", "s3:*"}
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for queue in resource["Properties"].get("Queues") or [resource["Properties"]["Bucket"]]
    }
    assert closed == {name for name, each in resources.items() if each["Type"] in stores}


def test_the_default_of_a_parameter_is_that_of_the_setting() -> None:
    assert TEMPLATE.parameters()["DefaultModel"] == Settings().default_model
    assert TEMPLATE.parameters()["LightModel"] == ""  # the setting decides
    assert TEMPLATE.parameters()["NumberSilenceDays"] == str(Settings().number_silence_days)
    assert Settings().reassigned_lookup_days == 0  # without a second number


@pytest.mark.parametrize(
    ("secret", "arn"),
    [("twilio_secret", "TwilioSecretArn"), ("openai_secret", "OpenaiSecretArn")],
)
def test_only_functions_with_the_variable_of_a_secret_may_read_it(secret: str, arn: str) -> None:
    told = {name for name, f in FUNCTIONS.items() if variable(secret) in f.environment}
    may = {
        name for name in FUNCTIONS if ("secretsmanager:GetSecretValue", arn) in PERMISSIONS[name]
    }
    assert told
    assert told == may


@pytest.mark.parametrize("name", ["Tick", "BackgroundFinder"])
def test_function_with_a_schedule_has_only_one(name: str) -> None:
    assert len(FUNCTIONS[name].schedules) == 1


def test_the_table_outlives_the_stack_and_can_be_brought_back() -> None:
    logical_id, create = TEMPLATE.table
    resource = TEMPLATE.document["Resources"][logical_id]
    table = resource["Properties"]
    # A first deployment that fails leaves no table behind; every other deletion keeps the table.
    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
    assert resource["UpdateReplacePolicy"] == "Retain"
    protected = table["DeletionProtectionEnabled"]
    assert TEMPLATE.resolve(protected, {}) is False  # `make deploy` turns it on
    assert TEMPLATE.resolve(protected, {"TableDeletionProtection": "on"}) is True
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert encryption(table) == (None, KEY)
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert TEMPLATE.resolve(table["BillingMode"], {}) == "PAY_PER_REQUEST"
    indexes = create["GlobalSecondaryIndexes"]
    assert [index["IndexName"] for index in indexes] == ["gsi1", "gsi2"]
    assert all(index["Projection"] == {"ProjectionType": "KEYS_ONLY"} for index in indexes)


@pytest.mark.parametrize(
    ("name", "output", "function", "variable"),
    [
        (REGISTER, "ErasureRegisterName", "BackgroundWorker", "SKEIN_ERASURE_REGISTER_NAME"),
        (NUMBERS, "AssignedNumbersName", "AdminApi", "SKEIN_ASSIGNED_NUMBERS_NAME"),
    ],
)
def test_other_tables_are_kept_and_protected_as_the_table_is(
    name: str, output: str, function: str, variable: str
) -> None:
    resource = TEMPLATE.document["Resources"][name]
    table = resource["Properties"]
    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
    assert resource["UpdateReplacePolicy"] == "Retain"
    assert "Condition" not in resource  # a stack with a restored table has one, too
    protected = table["DeletionProtectionEnabled"]
    assert TEMPLATE.resolve(protected, {}) is False  # `make deploy` turns it on
    assert TEMPLATE.resolve(protected, {"TableDeletionProtection": "on"}) is True
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert encryption(table) == (None, KEY)
    assert "TimeToLiveSpecification" not in table
    outputs = TEMPLATE.document["Outputs"]
    assert outputs[output]["Value"] == {"Ref": name}
    assert properties(function)["Environment"]["Variables"][variable] == {"Ref": name}


def table_references(value: Any) -> Iterator[str]:
    """Yield the references to the stack's own table that are not behind its condition."""
    match value:
        case {"Fn::If": ["CreatesTable", _, other]}:
            yield from table_references(other)
        case {"Ref": "Table"}:
            yield "Ref"
        case {"Fn::GetAtt": str(name)} if name.startswith("Table."):
            yield name
        case {"Fn::Sub": str(text)} if re.search(r"\$\{Table[.}]", text):
            yield text
        case dict():
            for part in value.values():
                yield from table_references(part)
        case list():
            for part in value:
                yield from table_references(part)


def test_stack_can_use_an_existing_table() -> None:
    """Each reference needs both tables: use the anchors `*table_name`, `*table_arn` and so on."""
    document = TEMPLATE.document
    own = ("CreatesTable", "ProvisionsTable")  # conditions that an existing table makes false
    resources = {
        name: part
        for name, part in document["Resources"].items()
        if part.get("Condition") not in own
    }
    for part in (document["Globals"], document["Outputs"], resources):
        assert not list(table_references(part))
    assert document["Resources"]["Table"]["Condition"] == "CreatesTable"
    name = GLOBALS["Environment"]["Variables"]["SKEIN_TABLE_NAME"]
    names = {"Table": "own"}
    assert TEMPLATE.resolve(name, names) == "own"
    assert TEMPLATE.resolve(name, names | {"ExistingTable": STREAM}) == "restored"


def test_roles_reach_an_existing_table_and_its_indexes() -> None:
    statements = properties("TickRole")["Policies"][0]["PolicyDocument"]["Statement"]
    [table, *indexes, _] = [statement["Resource"] for statement in statements]
    names = {"ExistingTable": STREAM, "Table.Arn": "arn:own"}
    restored = TEMPLATE.resolve(table, names)
    assert restored.endswith(":table/restored")
    expected = [f"{restored}/index/gsi1", f"{restored}/index/gsi2"]
    assert TEMPLATE.resolve(indexes, names) == expected
    assert TEMPLATE.resolve(table, {"Table.Arn": "arn:own"}) == "arn:own"


def test_webhooks_may_have_a_reserve_of_concurrency() -> None:
    names = {name for name in FUNCTIONS if "ReservedConcurrentExecutions" in properties(name)}
    assert names == {"SmsWebhook", "SmsStatus", "ServiceWebhook"}
    for name in names:
        reserve = properties(name)["ReservedConcurrentExecutions"]
        assert TEMPLATE.resolve(reserve, {}) is None
        assert TEMPLATE.resolve(reserve, {"WebhookReserve": 20}) == 20


def test_only_these_routes_take_no_token() -> None:
    public = {
        (route.method, route.path)
        for function in FUNCTIONS.values()
        for route in function.routes
        if not route.authorized
    }
    signed = {
        ("POST", f"/webhooks/{name}/{what}") for name in PROVIDERS for what in ("sms", "status")
    }
    assert public - signed == {
        ("GET", "/"),
        ("GET", "/console"),
        ("GET", "/console/"),
        ("GET", "/console/{proxy+}"),
        ("GET", "/docs"),
        ("GET", "/healthz"),
        ("GET", "/asyncapi.json"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/m/{token}"),
        ("GET", "/v1/widgets/{widget_id}/public"),
        ("POST", "/v1/widgets/{widget_id}/visits"),
        ("GET", "/widget/{proxy+}"),
        ("POST", "/webhooks/services/{service_id}"),
    }
    for function, what in ("SmsWebhook", "sms"), ("SmsStatus", "status"):
        routes = {(route.method, route.path) for route in FUNCTIONS[function].routes}
        assert routes == {each for each in signed if each[1].endswith(f"/{what}")}


@pytest.mark.parametrize("origins", [(), ("https://a.example", "https://b.example")])
def test_expanded_api_has_cors_for_exactly_the_given_origins(origins: tuple[str, ...]) -> None:
    given = {"CorsOrigins": ",".join(origins)}
    api = expand(TEMPLATE, **given)["HttpApi"]["Properties"]["Body"]
    cors = TEMPLATE.resolve(api["x-amazon-apigateway-cors"], given)
    assert cors == (
        {
            "allowOrigins": [*origins],
            "allowMethods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
            "allowHeaders": ["authorization", "content-type", "idempotency-key", "if-none-match"],
            "exposeHeaders": ["etag", "retry-after"],
            "maxAge": 3600,
        }
        if origins
        else None
    )


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/asyncapi.json", "/console/", "/console/{proxy+}"]
)
def test_expanded_api_leaves_most_requests_to_calls_with_a_token(path: str) -> None:
    stage = expand(TEMPLATE)["HttpApiApiGatewayDefaultStage"]["Properties"]
    all_calls, own = stage["DefaultRouteSettings"], stage["RouteSettings"][f"GET {path}"]
    values = TEMPLATE.resolve(all_calls, {})
    assert 0 < own["ThrottlingRateLimit"] <= values["ThrottlingRateLimit"] / 5
    assert values == {"ThrottlingRateLimit": 250, "ThrottlingBurstLimit": 500}


def test_cloudfront_is_optional_and_keeps_public_files_only() -> None:
    distribution = expand(TEMPLATE, Edge="on")["EdgeDistribution"]
    config = distribution["Properties"]["DistributionConfig"]
    kept = config["DefaultCacheBehavior"]["CachePolicyId"]
    patterns = {each["PathPattern"]: each["CachePolicyId"] for each in config["CacheBehaviors"]}
    public = [r.path for f in FUNCTIONS.values() for r in f.routes if not r.authorized]
    assert distribution["Condition"] == "HasEdge"
    assert kept not in patterns.values()
    assert patterns.keys() == {"/docs", "/openapi.json", "/asyncapi.json", "/console*", "/widget/*"}
    assert all(any(fnmatch(path, each) for path in public) for each in patterns)
    covered = {
        r.path
        for f in FUNCTIONS.values()
        for r in f.routes
        if any(fnmatch(r.path, each) for each in patterns)
    }
    assert covered <= set(public)
    acl = "arn:aws:wafv2:us-east-1:1:global/webacl/skein/1"
    assert TEMPLATE.resolve(config["WebACLId"], {"Edge": acl}) == acl
    assert TEMPLATE.resolve(config["WebACLId"], {"Edge": "on"}) is None


@pytest.mark.parametrize(
    ("parameter", "value", "policy", "action"),
    [
        ("KeyArn", KEY, "UseKey", "kms:Decrypt"),
        ("TracePercent", "5", "WriteTraces", "xray:PutTraceSegments"),
    ],
)
def test_optional_permission_is_part_of_each_functions_role(
    parameter: str, value: str, policy: str, action: str
) -> None:
    """AWS refuses a function whose role gets the permission only later."""
    resources = expand(TEMPLATE, **{parameter: value})
    [statement] = resources[policy]["Properties"]["PolicyDocument"]["Statement"]
    assert action in statement["Action"]
    names = {name: name for name in dict(TEMPLATE.resources("AWS::IAM::ManagedPolicy"))}
    for function in FUNCTIONS:
        policies = resources[f"{function}Role"]["Properties"]["ManagedPolicyArns"]
        assert policy in TEMPLATE.resolve(policies, names | {parameter: value}), function
        assert policy not in TEMPLATE.resolve(policies, names), function


def test_parts_that_are_off_are_not_deployed() -> None:
    resources = expand(TEMPLATE)
    conditions = TEMPLATE.document["Conditions"]
    off = {"Alarms": "off", "ServeConsole": "off"}
    gone = {
        name
        for name, each in resources.items()
        if "Condition" in each and not TEMPLATE.resolve(conditions[each["Condition"]], off)
    }
    assert {"Ops", "Console", "ConsoleRole", "ConsoleAliascurrent"} <= gone
    assert not {"MobileApi", "AdminApi", "ApiDocs", "Table", "HttpApi"} & gone
    paths = resources["HttpApi"]["Properties"]["Body"]["paths"]
    assert paths["/console/"]["Fn::If"][0] == "HasConsole"
    assert "Fn::If" not in paths["/v1/me"]


def test_no_two_functions_claim_one_route() -> None:
    routes = [(r.method, r.path) for f in FUNCTIONS.values() for r in f.routes]
    assert len(set(routes)) == len(routes)


def test_a_function_behind_the_api_gives_up_before_the_api_does() -> None:
    assert all(f.timeout < 30 for f in FUNCTIONS.values() if f.routes)


def test_runtime_is_the_python_of_a_test_run_and_not_older_than_the_oldest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version = GLOBALS["Runtime"].removeprefix("python")
    oldest = project["tool"]["mypy"]["python_version"]
    assert project["project"]["requires-python"] == f">={oldest}"
    assert tuple(map(int, version.split("."))) >= tuple(map(int, oldest.split(".")))
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "tools.install.runtime_python" in ci
    assert not [name for name in FUNCTIONS if "Runtime" in properties(name)]


OUTPUTS = set(TEMPLATE.document["Outputs"])


def test_runbooks_use_outputs_that_exist() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    used = {name for text in texts for name in re.findall(r"\bout ([A-Z]\w+)", text)}
    assert used
    assert used <= OUTPUTS
    # A value that only the stack knows is never left to the reader.
    assert not [
        text for text in texts if re.search(r"\$\{?(TABLE|DEAD_LETTERS_\w+|API_URL)\b", text)
    ]


def test_dead_letters_have_outputs() -> None:
    outputs = TEMPLATE.document["Outputs"]
    assert outputs["DeadLettersUrl"]["Value"] == {"Ref": "DeadLetters"}
    assert outputs["DeadLettersArn"]["Value"] == {"Fn::GetAtt": "DeadLetters.Arn"}


def test_log_level_never_drops_the_lines_of_metrics() -> None:
    level = GLOBALS["LoggingConfig"]["ApplicationLogLevel"]
    for chosen in ("DEBUG", "INFO", "WARN", "ERROR"):
        names = {"LogLevel": chosen}
        expected = "DEBUG" if chosen == "DEBUG" else "INFO"
        assert TEMPLATE.resolve(level, names) == expected
        variables = GLOBALS["Environment"]["Variables"]
        assert TEMPLATE.resolve(variables["POWERTOOLS_LOG_LEVEL"], names) == chosen


def table_with(vector_index: str) -> dict[str, Any]:
    """The table's properties with the parameter `Recall`."""
    (_, found), *_ = TEMPLATE.resources("AWS::DynamoDB::Table")
    resolved: dict[str, Any] = TEMPLATE.resolve(found, {"Recall": vector_index})
    return resolved


def used_attributes(table: Mapping[str, Any]) -> set[str]:
    schemas = [table["KeySchema"]]
    schemas += [index["KeySchema"] for index in table["GlobalSecondaryIndexes"]]
    schemas += [index["SearchSchema"] for index in table["VectorIndexes"] or ()]
    return {attribute["AttributeName"] for schema in schemas for attribute in schema}


@pytest.mark.parametrize("vector_index", ["on", "words"])
def test_table_defines_exactly_the_attributes_that_its_indexes_use(vector_index: str) -> None:
    table = table_with(vector_index)
    defined = [definition["AttributeName"] for definition in table["AttributeDefinitions"]]
    assert sorted(defined) == sorted(used_attributes(table))


def test_vector_index_has_the_attributes_that_the_adapters_use() -> None:
    table = table_with("on")
    [index] = table["VectorIndexes"]
    kinds = {
        element["AttributeName"]: element["SearchSchemaElementType"]
        for element in index["SearchSchema"]
    }
    filters = (VECTORS.model, VECTORS.author, VECTORS.month)
    assert kinds == {VECTORS.partition: "HASH", **dict.fromkeys(filters, "INLINE_FILTER")}
    assert index["VectorAttribute"] == {"AttributeName": VECTORS.vector}
    assert (index["Dimensions"], index["DistanceFunction"]) == (DIMENSIONS, "COSINE")


def test_vector_index_can_be_switched_off() -> None:
    assert table_with("words")["VectorIndexes"] is None
    name = GLOBALS["Environment"]["Variables"]["SKEIN_VECTOR_INDEX"]
    assert TEMPLATE.resolve(name, {"Recall": "words"}) == ""
    [index] = table_with("on")["VectorIndexes"]
    assert TEMPLATE.resolve(name, {"Recall": "on"}) == index["IndexName"]


def test_only_functions_that_recall_may_search_the_vector_index() -> None:
    search = ("dynamodb:SearchVectors", "Table/recall")
    searching = {name for name in FUNCTIONS if search in PERMISSIONS[name]}
    assert searching == {
        "AdminApi",
        "MobileApi",
        "RunWorker",
        "BackgroundWorker",
    }
