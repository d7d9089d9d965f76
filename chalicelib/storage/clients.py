"""boto3 clients with time limits that fit a Lambda: a service that hangs must not take the caller's 29 seconds."""

from typing import Any


def aws_client(service: str) -> Any:
    """A client of an AWS service, for the region and endpoint of the environment.

    Parameters are not validated on the client: ours are made by code that is typed, and checking them costs a tenth of
    a request's CPU.
    """
    import boto3
    from botocore.config import Config

    limits = Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": 3},
        parameter_validation=False,
    )
    return boto3.client(service, config=limits)
