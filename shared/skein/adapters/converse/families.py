"""What families of models on Bedrock can do, according to its user guide of November 2026."""

import re

# Models that hold their answers and the arguments of strict tools to a JSON schema.
HOLDS_SCHEMAS = re.compile(
    r"anthropic\.claude-(?:(?:haiku|sonnet)-4-[5-9]|opus-4-[5-9]|[a-z]+-[5-9])"
    r"|qwen\.qwen3|openai\.gpt-oss|deepseek\.v3|mistral\.(?:ministral-3|mistral-large-3|magistral)"
)
# Models that may reason before they answer, without being asked to.
REASONS = re.compile(r"claude-[a-z]+-[5-9]|deepseek\.r|gpt-oss|thinking|magistral|qwen3|minimax")
# Models that can be made to call one named tool; others can only be made to call any tool.
CALLS_NAMED_TOOL = re.compile(r"anthropic\.claude-|amazon\.nova-")
