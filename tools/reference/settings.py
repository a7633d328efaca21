"""Content of docs/settings.md: each setting, from its definition in the code."""

from collections.abc import Iterator, Mapping

from annotated_types import Ge, Gt, Le, MinLen
from pydantic.fields import FieldInfo
from pydantic_core import to_json

from skein.models.config.overrides import (
    DEFAULTS_IN_GROUPS,
    DEFAULTS_ON_LINES,
    ChatSettings,
    LimitSettings,
    RolloutSettings,
    TenantOnlySettings,
)
from skein.settings import NO_QUEUES, Settings, variable
from tools.reference.markdown import table

HEAD = """# Settings

Each setting of the deployment is an environment variable: `SKEIN_` and the setting's name in
capitals, for example `SKEIN_RECALL_TOKENS`. Operators may **override** many of them by API, without
a deployment.

- **On AWS**, `template.yaml` sets the variables that differ between deployments. To change another
  one, add the variable under `Globals` there.
- **On one machine**, put variables before the command: `SKEIN_REPLY_DEBOUNCE_SECONDS=5 make run`.

A container reads the variables once, when it starts (`shared/skein/settings.py`). Texts stand as
they are, several texts between commas, and all other values as JSON. An empty variable counts as
unset. A value out of bounds stops the start, and the error names the variable.

Tokens are counted by the tokenizer of the agent's model (`tokenizer_model`), or by `o200k_base` for
models that tiktoken does not know.

`make reference` writes this page.

## Levels

The first value that is set counts:

```mermaid
flowchart LR
    chat["chat<br>(consolidate only)"] --> agent["agent"]
    agent --> line["line"]
    line --> tenant["tenant"]
    tenant --> stack["stack<br>(roll-out only)"]
    stack --> environment["environment variable"]
    environment --> default["default"]
```

| level | set by |
|---|---|
| chat | `consolidate` of `PATCH /v1/chats/{chat_id}` |
| agent | `settings` of `PATCH /v1/agents/{agent_id}` |
| line | `settings` of `PATCH /v1/lines/{phone}` |
| tenant | `PATCH /v1/settings` |
| stack | `python -m tools.stack.settings` ([turn context off](operations.md#turn-context-off)) |

A change leaves omitted settings as they are. A setting that is null takes the value of the next
level. An agent's own `model`, `max_prompt_tokens` and `max_concurrent_runs` win over
`SKEIN_DEFAULT_MODEL`, `SKEIN_MAX_PROMPT_TOKENS` and `SKEIN_MAX_CONCURRENT_RUNS`.
`GET /v1/settings/effective` lists the values in force, each with its source.
"""
CHAT = """
## By agent, line and tenant

These settings hold in direct chats. Chats on a line and groups have some other defaults. A variable
that is set holds for all kinds of chats.

"""
AFTER_CHAT = """
**When a change takes effect.** A chat stores these settings with each message of its person
(`Chat.overrides`), so a new value holds from the person's next message. Tokens and the reserve for
the answer follow the values at the time of the turn.

**Groups.** The agents of a group share one history window and one summary. So the window, summaries
and debounce of a group follow the environment. Tokens, the reserve for the answer and the tokenizer
follow the agent and the tenant.

**The history window** starts with a third of its messages (at least three) and grows to the
setting. Then its start moves, if a summary covers the messages that leave. Otherwise the window
grows further, to at most twice its size
([summaries.md](context.md#summaries)).

**`consolidate`** holds in groups, too, for each agent. A worker reads the values when the chat is
idle, so a change holds for earlier messages, too
([memory.md](memory.md#which-chats-are-consolidated)).

## By tenant

These settings have variables, too. [limits.md](limits.md) describes what the limits do.

"""
TENANT_ONLY = """
These settings have no variable:

"""
STACK = """
- **`quiet_hours`** is an object such as `{"from": "21:00", "to": "08:00"}`
  ([runs.md](runs.md#quiet-hours)).
- **`prices`** is an object such as `{"currency": "USD", "models": {"gpt-4o": {"input": 2.5,
  "cached": 1.25, "output": 10}}, "channels": {"sms": 0.0079}}`, with prices for a million tokens.
  `cached` defaults to `input`. At most 50 models have a price. A dated version such as
  `gpt-4o-2024-08-06` has the price of its model, unless it has its own ([api.md](api.md#usage)).

## By tenant and stack

The stack's values hold for all tenants that have none of their own
([operations.md](operations.md#turn-context-off)).

"""
DEPLOYMENT = """
## By the environment alone

With `SKEIN_OPENAI_BASE_URL`, `SKEIN_LIGHT_MODEL` defaults to `SKEIN_DEFAULT_MODEL`, because a
compatible API may not have OpenAI's light model.

"""
OTHERS = """
## Other variables

"""
MAKE_RUN = "you, for `make run`"
OTHER_VARIABLES = (
    (
        "POWERTOOLS_LOG_LEVEL",
        "`template.yaml`",
        "lowest severity that is logged (parameter `LogLevel`)",
    ),
    (
        "TIKTOKEN_CACHE_DIR",
        "`template.yaml`, `Makefile`",
        "folder of the tokenizers' files; nothing downloads them at run time",
    ),
    ("SKEIN_PORT", MAKE_RUN, "port of the local stack; default 8787, or the next free one"),
    ("SKEIN_LIVE_PORT", MAKE_RUN, "port of the live channel; default any free port"),
    (
        "SKEIN_HOST",
        MAKE_RUN,
        "a further IP address ([local.md](local.md#a-phone-on-the-same-network))",
    ),
    (
        "SKEIN_CORS_ORIGINS",
        MAKE_RUN,
        "origins of web pages that may call the API, separated by commas",
    ),
    (
        "SKEIN_CACHE_DIR",
        MAKE_RUN,
        "folder of the small model, token ranks and embeddings; default `.cache`",
    ),
    ("SKEIN_DATA_DIR", MAKE_RUN, "folder of the local stack's data; default `.data`"),
    (
        "OPENAI_API_KEY",
        MAKE_RUN,
        "the local stack uses OpenAI instead of the small model ([local.md](local.md#the-model))",
    ),
    ("OPENAI_BASE_URL", MAKE_RUN, "the local stack uses this OpenAI-compatible API"),
)
END = "\n[deploy.md](deploy.md) lists the parameters of a deployment.\n"
BOUNDS = {Ge: "from {0.ge}", Gt: "over {0.gt}", Le: "to {0.le}", MinLen: "not empty"}
COLUMNS = ("default", "bounds", "meaning")
CHAT_COLUMNS = ("setting", "default", "on a line", "in a group", "bounds", "meaning")


def page() -> str:
    """Return docs/settings.md in Markdown."""
    overridable = (
        ChatSettings.model_fields | LimitSettings.model_fields | RolloutSettings.model_fields
    )
    alone = {
        variable(name): field
        for name, field in Settings.model_fields.items()
        if name not in overridable
    }
    parts = (
        HEAD,
        CHAT,
        table(*CHAT_COLUMNS, rows=_chat_rows()),
        AFTER_CHAT,
        _listed("setting", LimitSettings.model_fields),
        TENANT_ONLY,
        _listed("setting", TenantOnlySettings.model_fields),
        STACK,
        _listed("setting", RolloutSettings.model_fields),
        DEPLOYMENT,
        _listed("variable", alone),
        OTHERS,
        table(
            *("variable", "set by", "meaning"),
            rows=((f"`{name}`", by, meaning) for name, by, meaning in OTHER_VARIABLES),
        ),
        END,
    )
    return "".join(parts)


def _chat_rows() -> Iterator[tuple[str, ...]]:
    for name, field in ChatSettings.model_fields.items():
        others = [
            _shown(known[name]) if name in known else ""
            for known in (DEFAULTS_ON_LINES, DEFAULTS_IN_GROUPS)
        ]
        yield _row(name, _shown(field.default), *others, field=field)


def _listed(what: str, fields: Mapping[str, FieldInfo]) -> str:
    rows = (_row(name, _shown(field.default), field=field) for name, field in fields.items())
    return table(what, *COLUMNS, rows=rows)


def _row(name: str, *defaults: str, field: FieldInfo) -> tuple[str, ...]:
    return f"`{name}`", *defaults, _bounds(field), str(field.description)


def _shown(default: object) -> str:
    """Return a default value as it would be written in an environment variable."""
    match default:
        case None | "":
            return "-"
        case str():
            return f"`{default}`"
        case tuple():
            return f"`{','.join(default)}`" if default else "-"
    return f"`{to_json(default).decode()}`" if default != NO_QUEUES else "-"


def _bounds(field: FieldInfo) -> str:
    words = (BOUNDS[type(bound)].format(bound) for bound in field.metadata if type(bound) in BOUNDS)
    return " ".join(words) or "-"
