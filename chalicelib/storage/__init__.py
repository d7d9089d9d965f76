"""DynamoDB, SQS, KMS and Secrets Manager: transactions of records, messages, secrets."""
