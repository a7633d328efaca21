"""Parse and answer the webhooks that API Gateway delivers."""
