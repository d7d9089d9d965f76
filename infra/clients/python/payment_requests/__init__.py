"""A client of the Payment Request Service.

    client = Client("https://api.example.com", api_key="...")
    request = client.requests.create({"amount": "12.5", "payee": "0x...", ...})
    for payment in client.payments.list(network="base"): ...
    event = verify_webhook(body, headers, secret)
"""

from payment_requests._version import VERSION
from payment_requests.client import Client
from payment_requests.errors import (
    ApiError,
    BadRequest,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidSignature,
    NotFound,
    PaymentRequestsError,
    RateLimited,
    ServerError,
    Unauthorized,
    Unprocessable,
    WaitsForApproval,
)
from payment_requests.webhooks import verify_webhook

__version__ = VERSION
__all__ = [
    "ApiError",
    "BadRequest",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "InvalidSignature",
    "NotFound",
    "PaymentRequestsError",
    "RateLimited",
    "ServerError",
    "Unauthorized",
    "Unprocessable",
    "WaitsForApproval",
    "verify_webhook",
]
