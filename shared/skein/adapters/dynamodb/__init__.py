"""The table and its vector index on DynamoDB."""
