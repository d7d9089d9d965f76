"""Access to DynamoDB (records and transactions), SQS (messages), S3 (objects), KMS and Secrets Manager (secrets)."""
