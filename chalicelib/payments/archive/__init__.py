"""The archive: paid requests, a year after their last payment, as JSON lines in S3."""
