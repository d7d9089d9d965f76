"""Rate limits at the edge: what is left of them, as headers."""

from dataclasses import dataclass

from chalicelib.api.incoming import Incoming
from chalicelib.core.callers import Caller
from chalicelib.core.rate_limits import Rate
from chalicelib.flows import limits
from chalicelib.flows.identify import refused
from chalicelib.flows.limits import Allowance, spend_unknown_token
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
