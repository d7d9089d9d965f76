"""boto3 clients with short timeouts, so that an AWS service that hangs does not use up API Gateway's 29 seconds."""

from typing import Any

THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
"""What DynamoDB calls the refusals that are `Throttled`."""


class Throttled(Exception):
    """DynamoDB refuses these calls at the moment because there are too many."""


def aws_client(service: str, attempts: int = 3) -> Any:
    """A client of an AWS service, with the region and endpoint of the environment.

    The client does not validate parameters, which costs a tenth of a request's CPU: typed code builds them.
    """
    import boto3
    from botocore.config import Config

    limits = Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": attempts},
        parameter_validation=False,
    )
    return boto3.client(service, config=limits)
