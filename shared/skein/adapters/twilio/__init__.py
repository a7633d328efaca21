"""SMS and webhooks of Twilio."""
