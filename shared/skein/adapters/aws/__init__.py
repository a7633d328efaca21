"""AWS clients, and the adapters of AWS services other than DynamoDB."""
