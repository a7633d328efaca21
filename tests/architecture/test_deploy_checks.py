"""Checks before a deployment: each finds what would fail halfway, and no secret is printed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from local.template import TEMPLATE
from tests.support.template import deployed_template
from tools.deployment import checks as deploy_checks
from tools.deployment.checks import Checks, FailedCheckError, template_parameters
from tools.deployment.deploy import PROFILES

ISSUER = "https://issuer.example"
ARN = "arn:aws:secretsmanager:eu-west-1:1:secret:"
GIVEN = {
    "JwtIssuer": ISSUER,
    "JwtAudience": "skein",
    "TwilioSecretArn": f"{ARN}twilio",
    "OpenaiSecretArn": f"{ARN}openai",
}
REGION = {"AWS_REGION": "eu-west-1"}
WORD = "secretword"
STREAM = "arn:aws:dynamodb:eu-west-1:1:table/restored/stream/1"


class Account:
    """An AWS account in which everything is ready for a first deployment."""

    def __init__(self) -> None:
        self.concurrency = 1000
        self.parameters: Mapping[str, str] | None = None
        self.identity: dict[str, str] | None = {"Account": "1", "Arn": "arn:aws:iam::1:user/a"}
        recovery = {"PointInTimeRecoveryStatus": "ENABLED"}
        self.table: dict[str, dict[str, Any]] = {
            "describe-table": {
                "Table": {
                    "KeySchema": [{"AttributeName": "pk"}, {"AttributeName": "sk"}],
                    "GlobalSecondaryIndexes": [{"IndexName": "gsi1"}, {"IndexName": "gsi2"}],
                    "LatestStreamArn": STREAM,
                    "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
                }
            },
            "describe-time-to-live": {"TimeToLiveDescription": {"AttributeName": "expires_at"}},
            "describe-continuous-backups": {
                "ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": recovery}
            },
        }
        self.arns: dict[str, str] = {}
        self.secrets: dict[str, Any] = {
            f"{ARN}twilio": json.dumps({"account_sid": "AC1", "auth_token": WORD}),
            f"{ARN}openai": json.dumps({"api_key": WORD}),
        }

    def __call__(self, command: Sequence[str]) -> str:
        match list(command):
            case ["sts", *_]:
                if self.identity is None:
                    raise FailedCheckError("Unable to locate credentials")
                return json.dumps(self.identity)
            case ["cloudformation", *_]:
                if self.parameters is None:
                    raise FailedCheckError("Stack with id skein does not exist")
                pairs = self.parameters.items()
                listed = [{"ParameterKey": k, "ParameterValue": v} for k, v in pairs]
                return json.dumps({"Stacks": [{"Parameters": listed}]})
            case ["dynamodb", call, *_]:
                return json.dumps(self.table[call])
            case ["secretsmanager", *_, arn]:
                whole = self.arns.get(arn, arn)
                return json.dumps({"SecretString": self.secrets[arn], "ARN": whole})
            case ["lambda", *_]:
                limit = {"ConcurrentExecutions": 1000}
                limit["UnreservedConcurrentExecutions"] = self.concurrency
                return json.dumps({"AccountLimit": limit})
        raise AssertionError(command)


class Issuer:
    """An issuer with one key."""

    def __init__(self, name: str = ISSUER, key: str = "RSA") -> None:
        self._documents = {
            f"{ISSUER}/.well-known/openid-configuration": {
                "issuer": name,
                "jwks_uri": f"{ISSUER}/keys",
            },
            f"{ISSUER}/keys": {"keys": [{"kty": key}]},
        }

    def __call__(self, url: str) -> Any:
        return self._documents[url]


def failures(
    account: Account | None = None,
    *,
    given: Mapping[str, str] = GIVEN,
    environment: Mapping[str, str] = REGION,
    issuer: Issuer | None = None,
) -> dict[str, str]:
    checks = Checks("skein", given, environment, account or Account(), issuer or Issuer())
    return {name: finding for name, finding, passed in checks.run() if not passed}


def test_account_that_is_ready_passes_all_checks() -> None:
    checks = Checks("skein", GIVEN, REGION, Account(), Issuer())
    results = list(checks.run())
    names = ["Region", "Credentials", "Parameters", "Issuer", "Secrets", "Quota"]
    assert [name for name, _, _ in results] == names
    assert all(passed for _, _, passed in results)
    assert WORD not in str(results)


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "no region is set"),
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, "differ"),
    ],
)
def test_region_must_be_set_once(environment: Mapping[str, str], why: str) -> None:
    found = failures(environment=environment)
    assert list(found) == ["Region"]
    assert why in found["Region"]


def test_without_credentials_the_given_parameters_are_checked() -> None:
    account = Account()
    account.identity = None
    checks = Checks("skein", GIVEN, REGION, account, Issuer())
    names = ["Region", "Credentials", "Parameters", "Issuer"]
    assert [name for name, _, _ in checks.run()] == names
    given = {name: value for name, value in GIVEN.items() if name != "OpenaiSecretArn"}
    found = failures(account, given=given, issuer=Issuer(key="EC"))
    assert list(found) == ["Credentials", "Parameters", "Issuer"]


def test_first_deployment_without_a_required_parameter_fails() -> None:
    given = {name: value for name, value in GIVEN.items() if name != "OpenaiSecretArn"}
    assert failures(given=given)["Parameters"] == "a first deployment needs OpenaiSecretArn"


def test_deployment_without_an_issuer_has_nothing_to_fetch() -> None:
    given = {name: value for name, value in GIVEN.items() if name != "JwtIssuer"}
    assert not failures(given=given, issuer=Issuer(key="EC"))


def test_later_deployment_keeps_its_parameters() -> None:
    account = Account()
    account.parameters = GIVEN
    assert not failures(account, given={})


def test_unknown_parameter_fails() -> None:
    found = failures(given=GIVEN | {"JwtAudiance": "a"})
    assert found["Parameters"] == "the template has no JwtAudiance"


@pytest.mark.parametrize(
    ("issuer", "why"),
    [
        (Issuer(name=f"{ISSUER}/"), "JwtIssuer must be the same"),
        (Issuer(key="EC"), "publishes no RSA key"),
    ],
)
def test_issuer_must_publish_its_name_and_rsa_keys(issuer: Issuer, why: str) -> None:
    assert why in failures(issuer=issuer)["Issuer"]


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("sk-plain", "is not a JSON object"),
        ("[1]", "is not a JSON object"),
        ("{}", "has no api_key"),
        (json.dumps({"api_key": ""}), "has no api_key"),
    ],
)
def test_secret_must_have_its_fields(secret: str, why: str) -> None:
    account = Account()
    account.secrets[f"{ARN}openai"] = secret
    finding = failures(account)["Secrets"]
    assert why in finding
    assert WORD not in finding
    assert "sk-plain" not in finding


def test_secret_of_another_region_fails() -> None:
    found = failures(environment={"AWS_REGION": "us-east-1"})
    assert found["Secrets"] == "TwilioSecretArn is not in the region us-east-1"


def test_account_with_ten_concurrent_executions_fails() -> None:
    account = Account()
    account.concurrency = 10
    finding = failures(account)["Quota"]
    assert "has 10 concurrent executions" in finding
    assert "L-B99A9384" in finding
    assert "Size=small does not help" in finding


def test_workers_that_the_account_can_run_pass() -> None:
    account = Account()
    account.concurrency = 50 + 10 + 25 + 25 + 25 + 30 + 10 + deploy_checks.RESERVE
    assert not failures(account)
    assert "Quota" in failures(account, given=GIVEN | {"Size": "large"})
    account.concurrency = 1_310
    assert not failures(account, given=GIVEN | {"Size": "large"})


def test_workers_of_the_check_are_those_of_the_template() -> None:
    sizes = deployed_template().document["Mappings"]["Sizes"]
    gateway = {"Requests", "Burst"}
    assert {
        size: {name: most for name, most in values.items() if name not in gateway}
        for size, values in sizes.items()
    } == deploy_checks.WORKERS
    assert [*sizes] == deployed_template().document["Parameters"]["Size"]["AllowedValues"]


def test_small_profile_runs_within_ten_executions() -> None:
    account = Account()
    account.concurrency = 10
    assert not failures(account, given=PROFILES["small"] | GIVEN)
    account.concurrency = 9
    assert "Quota" in failures(account, given=PROFILES["small"] | GIVEN)
    without_sms = PROFILES["small"] | GIVEN | {"TwilioSecretArn": ""}
    assert not failures(account, given=without_sms)
    declared = deployed_template().document["Parameters"]
    assert PROFILES["small"].keys() <= declared.keys()


def test_secret_needs_its_whole_arn() -> None:
    account = Account()
    account.arns[f"{ARN}openai"] = f"{ARN}openai-AbCdEf"
    assert f"{ARN}openai-AbCdEf" in failures(account)["Secrets"]


def test_reserve_of_the_webhooks_counts() -> None:
    account = Account()
    given = GIVEN | {"WebhookReserve": "100"}
    assert not failures(account, given=given)
    account.concurrency = 400
    assert not failures(account)
    assert "WebhookReserve" in failures(account, given=given)["Quota"]


def test_parameters_are_read_as_the_template_declares_them() -> None:
    read = template_parameters(TEMPLATE.read_text(encoding="utf-8"))
    declared = deployed_template().document["Parameters"]
    assert set(read) == set(declared)
    for name, parameter in declared.items():
        default = parameter.get("Default")
        assert read[name] == (None if default is None else str(default))


def test_document_that_is_not_fetched_by_https_fails() -> None:
    with pytest.raises(FailedCheckError, match="does not begin with https"):
        deploy_checks.fetch("http://issuer.example")


RESTORED = GIVEN | {"ExistingTable": STREAM}


def test_existing_table_like_that_of_the_template_passes() -> None:
    results = list(Checks("skein", RESTORED, REGION, Account(), Issuer()).run())
    assert results[-1] == (
        "Table",
        "restored has keys, indexes, a stream, expiry and backups",
        True,
    )


@pytest.mark.parametrize(
    ("call", "answer", "why"),
    [
        (
            "describe-table",
            {"Table": {"KeySchema": [{"AttributeName": "id"}]}},
            "has the keys id",
        ),
        (
            "describe-table",
            {
                "Table": {
                    "KeySchema": [{"AttributeName": "pk"}, {"AttributeName": "sk"}],
                    "GlobalSecondaryIndexes": [{"IndexName": "gsi1"}],
                }
            },
            "has no index gsi2",
        ),
        (
            "describe-time-to-live",
            {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
            "does not expire items",
        ),
        (
            "describe-continuous-backups",
            {
                "ContinuousBackupsDescription": {
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"}
                }
            },
            "has no point-in-time recovery",
        ),
    ],
)
def test_existing_table_that_lacks_something_fails(
    call: str, answer: dict[str, Any], why: str
) -> None:
    account = Account()
    account.table[call] = answer
    assert why in failures(account, given=RESTORED)["Table"]


def test_existing_table_needs_the_arn_of_its_stream() -> None:
    older = {"ExistingTable": STREAM.replace("stream/1", "stream/0")}
    assert failures(given=GIVEN | older)["Table"] == f"set ExistingTable={STREAM}"


def test_existing_table_without_a_stream_fails() -> None:
    account = Account()
    account.table["describe-table"]["Table"]["StreamSpecification"] = {}
    finding = failures(account, given=RESTORED)["Table"]
    assert "has no stream of the kind NEW_AND_OLD_IMAGES" in finding


def test_indexes_of_the_check_are_those_of_the_template() -> None:
    _, table = deployed_template().table
    assert {index["IndexName"] for index in table["GlobalSecondaryIndexes"]} == (
        deploy_checks.INDEXES
    )
