"""Emulates Twilio: accepts SMS, sends webhooks, and logs the messages."""
