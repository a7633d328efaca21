"""The AWS engine: the deployed adapters on DynamoDB Local and an emulator of SQS."""
