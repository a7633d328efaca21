"""The outside: the only package that imports boto3, openai or twilio."""
