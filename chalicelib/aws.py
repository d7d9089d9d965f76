"""How we reach DynamoDB, SQS, KMS and Secrets Manager."""


