"""Rate limits at the edge: what is left of them, as headers."""

from dataclasses import dataclass

from chalicelib.access.callers import Caller
from chalicelib.access.flows import refused
from chalicelib.access.modes import Rate
from chalicelib.access.rate_limits import flows as limits
from chalicelib.access.rate_limits.flows import Allowance, spend_unknown_token
from chalicelib.http.request import Incoming
from chalicelib.services import Services

__all__ = ["Left", "spend", "spend_failure", "spend_unknown_token"]


@dataclass(frozen=True)
class Left:
    """What an answer says of the limit it was counted under."""

    allowance: Allowance

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.allowance.limit),
            "RateLimit-Remaining": str(self.allowance.remaining),
            "RateLimit-Reset": str(self.allowance.reset),
        }


def spend(services: Services, caller: Caller, rate: Rate) -> Left:
    """Counts one call of the caller. Raises TooManyRequests beyond the limit, or while the caller is shut out."""
    return Left(limits.spend(services, caller, rate))


def spend_failure(services: Services, request: Incoming) -> Left:
    """Counts a call whose credential was refused, by address: guessing credentials is limited, too."""
    return spend(services, refused(services, request.origin, request.ip_address), Rate.TIER)
