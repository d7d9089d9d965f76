"""Clients of AWS with short timeouts, so that an AWS service that hangs does not use up API Gateway's 29 seconds."""

from functools import cache
from typing import Any

THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
"""What DynamoDB calls the refusals that are `Throttled`."""


class Throttled(Exception):
    """DynamoDB refuses these calls at the moment because there are too many."""


def aws_client(service: str, attempts: int = 3) -> Any:
    """A client of an AWS service, with the region and endpoint of the environment.

    It is what `boto3.client` returns, less what costs CPU in every call or start: botocore makes it, so that boto3 with
    its transfers of files is not imported; parameters are not validated, as typed code builds them; and the name that
    AWS is sent is one text, which botocore would otherwise assemble of a dozen parts twice in a call.
    """
    from botocore.config import Config

    config = Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": attempts},
        parameter_validation=False,
        user_agent=f"payment-requests {service}",
    )
    client = _session().create_client(service, config=config)
    if service == "dynamodb":
        client._ruleset_resolver = None  # a call goes to the client's endpoint; no rule is run to find that of a table
    return client


@cache
def _session() -> Any:
    """The session of this process: clients share its credentials and its descriptions of services."""
    from botocore.session import get_session

    return get_session()
