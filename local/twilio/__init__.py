"""Emulate Twilio: accept SMS, send webhooks, and log the messages."""
