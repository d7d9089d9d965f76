"""Clients of AWS with short timeouts, so that an AWS service that hangs does not use up API Gateway's 29 seconds."""

import sys
from functools import cache
from typing import Any, cast

from chalicelib.base.frozen import frozen

SERVICES = ("dynamodb", "events", "kms", "s3", "secretsmanager", "sesv2", "sns", "sqs", "sts")
THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
"""What DynamoDB calls the refusals that are `Throttled`."""


class Throttled(Exception):
    """DynamoDB refuses these calls at the moment because there are too many."""
CHANGED = frozenset({"ConditionalCheckFailed", "ConditionalCheckFailedException"})
"""Codes of a DynamoDB write whose condition does not hold."""
CONTENTION = frozenset(
    {
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
    }
)
"""Codes of a transaction that another one holds up, or that an earlier attempt of the same has not ended."""


@frozen
class Keys:
    """Credentials of a role."""

    access_key: str
    secret_key: str
    token: str


def aws_client(
    service: str, attempts: int = 3, read_seconds: int = 5, region: str | None = None, keys: Keys | None = None
) -> Any:
    """A client of one of SERVICES, with the endpoint of the environment, and its region and credentials unless named.

    It is what `boto3.client` returns, less what costs CPU in every start or call: parameters are not validated, as
    typed code builds them; and the name that AWS is sent is one text, which botocore would otherwise assemble of a
    dozen parts twice in a call.
    """
    _import_without_pyopenssl()
    from boto3 import Session
    from botocore.config import Config
    from botocore.session import get_session

    config = Config(
        connect_timeout=2,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
        parameter_validation=False,
        user_agent=f"payment-requests {service}",
    )
    session = get_session()  # one for each client, as it keeps the credentials that it finds first
    session.register_component("data_loader", _loader())
    if keys is not None:
        session.set_credentials(keys.access_key, keys.secret_key, keys.token)
    return Session(botocore_session=session).client(service, region_name=region, config=config)


@cache
def _import_without_pyopenssl() -> None:
    """Imports botocore's HTTP client without pyOpenSSL, which is a tenth of a cold start.

    It would import it where some package has brought it, only to take a class that urllib3 has as well. None in place
    of the module has the import fail, as if it were not installed.
    """
    modules = cast("dict[str, Any]", sys.modules)
    is_absent = modules.setdefault(_PYOPENSSL, None) is None
    try:
        import botocore.httpsession  # noqa: F401
    finally:
        if is_absent:
            modules.pop(_PYOPENSSL, None)


_PYOPENSSL = "urllib3.contrib.pyopenssl"


@cache
def _loader() -> Any:
    """What reads the descriptions of services, once in a process.

    It finds SERVICES without looking through the folders of all services of AWS, and no endpoint rules of DynamoDB:
    these would be run in every call, with its items as their input, only to find the client's own endpoint. Of the
    endpoints of all services, a file of 1.2 MB whose reading is a tenth of a cold start, it has how they are named in
    each partition.
    """
    from botocore.loaders import Loader

    class OurServices(Loader):
        def list_available_services(self, type_name: str) -> list[str]:
            return [each for each in SERVICES if (each, type_name) != ("dynamodb", "endpoint-rule-set-1")]

        def load_data_with_path(self, name: str) -> Any:
            if name != "endpoints":
                return super().load_data_with_path(name)
            partitions = map(_name_endpoints, self.load_data("partitions")["partitions"])
            return {"version": 3, "partitions": list(partitions)}, ""

    return OurServices()


def _name_endpoints(partition: dict[str, Any]) -> dict[str, Any]:
    """How the endpoints of a partition of AWS are named, in the form of botocore's file of endpoints.

    Only S3 needs an entry of its own, as botocore takes its endpoint without a region for us-east-1.
    """
    named = {"hostname": "{service}.{region}.{dnsSuffix}", "protocols": ["https"], "signatureVersions": ["v4"]}
    without_region = {"hostname": "s3.amazonaws.com", "credentialScope": {"region": "us-east-1"}}
    return {
        "partition": partition["id"],
        "dnsSuffix": partition["outputs"]["dnsSuffix"],
        "regionRegex": partition["regionRegex"],
        "regions": partition["regions"],
        "defaults": named,
        "services": {"s3": {"partitionEndpoint": "aws-global", "endpoints": {"aws-global": without_region}}},
    }
