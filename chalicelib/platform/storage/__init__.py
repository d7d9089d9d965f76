"""Access to DynamoDB (records and transactions), SQS (messages), KMS and Secrets Manager (secrets)."""
