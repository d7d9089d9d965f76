"""The errors that become HTTP error responses, in one tree.

They hold records; `platform/http/errors.py` builds their bodies.

ServiceError                         a status and a message that tells the caller what to do
├── BadRequest                 400   the input cannot be used; the message says what to change
│   ├── InvalidAddress         400   a text is no address; a ValueError, too
│   ├── ValidationFailed       400   a list of problems, one or more fields
│   ├── MulticallRefused       400   payouts that cannot be in it, in payments.links.multicalls.children
│   ├── SetRefused             400   payouts that cannot be paid together, in payments.links.multicalls.children
│   ├── NoRoute                400   the payment cannot be made from that chain, in crosschain.service.router.rules
│   ├── BridgeClosed           400   no routes are quoted at the moment, in crosschain.service.router.rules
│   ├── NoRelayer              400   the service sends no transactions on the network, in relayer.keys.signer
│   ├── OutOfEnergy            400   on Tron it would burn TRX and fail, in checkout.resources.rules
│   ├── TronBatchRefused       400   several payments on Tron at once, in payments.links.errors
│   └── TransfersOfChildren    400   a request for the transfers of a multicall, in payments.transfers.rules
├── Unauthorized               401   no credential, or an unknown one
├── Forbidden                  403   the credential is valid but does not permit the call
│   ├── ForeignOrigin          403   the credential does not allow the Origin
│   ├── ProofRequired          403   the session needs a proof of presence, in platform.access.presence
│   ├── LinkAwaitingChain      403   expired, but its network was not read that far, in payments.links.errors
│   ├── LinkClosed             403   the link has expired, or was replaced or cancelled, in payments.links.errors
│   └── WrongWallet            403   only the creator's wallet may pay the payout, in payments.links.errors
├── NotFound                   404
│   └── PayerNotFound          404   no such payer; the log has no id of the person, in offramp.payers.rules
├── MethodNotAllowed           405
├── Conflict                   409   the record is not in the state that the call requires
│   ├── Undone                 409   what was written for the call was taken back: it may be made again
│   ├── ChangedMeanwhile       409   a record was changed since the call read it: it may be made again
│   ├── SignedInAsAnother      409   meant for somebody else than the session's, in platform.access.sessions.rules
│   ├── LinkCompleted          409   the link is already paid, in payments.links.errors
│   └── RequestCancelled       409   the request was cancelled, in payments.requests.rules
├── PayloadTooLarge            413
├── UnsupportedMediaType       415
├── Unprocessable              422   the idempotency key was used with another body
├── Locked                     423
│   ├── LinkLocked             423   a transaction of the link is pending, in payments.links.errors
│   ├── LinkBeingSigned        423   another wallet is asked to pay the link, in payments.links.errors
│   └── RequestExecuted        423   a signed payment is being made, in crosschain.service.payment_intents.rules
├── TooManyRequests            429
├── BadGateway                 502   a transaction was sent to a node and its outcome is unknown
├── ProviderUnavailable        503   the compliance provider gave no usable answer, in platform.outbound.compliance
├── RateUnavailable            503   no rate holds: a source is silent or stale, or they differ, in payments.rates.rules
├── AccountUnknown             503   STS did not name the service's account, in platform.outbound.destination_sender
├── SafeServiceUnavailable     503   the Safe service gave no usable response, in chains.nodes.safes.service
├── NewerShape                 503   a newer version of the service wrote the record, in platform.storage.items
└── ChainUnavailable           503   a node gave no usable response; nothing was changed
    ├── PaymentsStopped        503   the operator has stopped payments, in platform.emergency_stop.flows
    ├── RpcError               503   the node responded with an error, in chains.nodes.rpc.jsonrpc
    ├── NodeTimeout            503   the node did not respond in time, in chains.nodes.rpc.jsonrpc
    ├── NodeResponseTooLarge   503   the node's response is too long, in chains.nodes.rpc.jsonrpc
    ├── NodesDisagree          503   two nodes say different things of what decides, in chains.nodes.nodes
    ├── NotConfirmed           503   too few nodes of a network say what decides
    │   ├── TooFewNodes        503   only one of several nodes answers what decides, in chains.nodes.agreement
    │   └── NotAgreed          503   no other node has a block with payments yet, in payments.scanning.checks.comparison
    └── InconsistentNode       503   two responses of the node contradict each other, in chains.nodes.history.logs
"""

from typing import Any

from chalicelib.base.frozen import frozen


class ServiceError(Exception):
    """An error response with the class's `status`; `message` is shown to the caller."""

    status = 500
    shown_by: str | None = None
    """The module that registers the additional fields of this error's body (platform/http/errors.py); None if it has
    none."""

    logged: str | None = None
    """What the log has in place of the message: one that names a person must not be in it."""
    is_undone = False
    """Whether what was written for the call was taken back, so that it had no effect and may be made again."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequest(ServiceError):
    status = 400


class InvalidAddress(BadRequest, ValueError):
    """A text is no address: one of a caller is a bad request, one in a response of a node makes that malformed."""


@frozen
class Problem:
    """One problem of the input: `path` names the field, empty if there are several; `details` are added to the body.

    `message` says what to do without repeating the field: "must be a string", "Invalid Ethereum address".
    """

    path: tuple[str, ...]
    message: str
    code: str = "custom"
    details: tuple[tuple[str, Any], ...] = ()
    verbatim: bool = False
    """Whether clients know the message as it is, so that it is sent without the field wherever it stands alone."""

    @property
    def field(self) -> str:
        """The whole path: `requests.0.amount`."""
        return ".".join(self.path)

    @property
    def sentence(self) -> str:
        """The message with its field: "amount must be a string", "wallet: Invalid Ethereum address"."""
        if not self.path or self.verbatim:
            return self.message
        return f"{self.field}{' ' if self.message[:1].islower() else ': '}{self.message}"


class ValidationFailed(BadRequest):
    """The input does not have the documented form.

    How the body shows `problems` depends on the operation (`ProblemForm` in platform/http/operation.py).
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems[0].sentence)
        self.problems = problems


class Unauthorized(ServiceError):
    status = 401

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


class Forbidden(ServiceError):
    status = 403


class ForeignOrigin(Forbidden):
    """The credential does not allow the Origin, or a page of this Origin may not use or open sessions."""


class NotFound(ServiceError):
    status = 404


class MethodNotAllowed(ServiceError):
    status = 405


class Conflict(ServiceError):
    status = 409


class ChangedMeanwhile(Conflict):
    """A record was changed since the call has read it, as often as it was tried. Nothing was written."""


class Undone(Conflict):
    """What was written for the call was taken back, so that it had no effect and may be made again."""

    is_undone = True


class PayloadTooLarge(ServiceError):
    status = 413


class UnsupportedMediaType(ServiceError):
    status = 415


class Unprocessable(ServiceError):
    status = 422


class Locked(ServiceError):
    status = 423


class TooManyRequests(ServiceError):
    """The caller made more than `limit` calls in the current window, which ends in `retry_after` seconds."""

    status = 429

    def __init__(self, retry_after: int, limit: int) -> None:
        super().__init__("ThrottlerException: Too Many Requests")
        self.retry_after = retry_after
        self.limit = limit


class BadGateway(ServiceError):
    status = 502


class ChainUnavailable(ServiceError):
    """`reason` is what the node said or did, for logs only, not for callers; empty if there is no more to say."""

    status = 503
    reason = ""
    retry_seconds = 5
    """`Retry-After` of the response."""


class NotConfirmed(ChainUnavailable):
    """Too few nodes of a network say what decides: it waits for another one. The alarm is raised once a network waits
    for SILENT_NODES_SECONDS (payments/scanning/jobs.py)."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
