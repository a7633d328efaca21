"""Adapters of the ports: the only package that imports the AWS, OpenAI and Twilio libraries."""
