"""Views that claim to sign the payment of a link, and give the claim back."""

from typing import Annotated

from pydantic import Field, StringConstraints

from chalicelib.checkout.signing import flows
from chalicelib.payments.links.announcers import FORM, HEADER, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.signing import calls_id
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.platform.http.view import Call

_Secret = Annotated[str, StringConstraints(pattern=FORM)]
_Hash = Annotated[str, StringConstraints(pattern=r"^0x[a-f0-9]{64}$")]


class ClaimSigning(Input):
    calls: _Hash = Field(description="A hash of the calls, such as keccak256 of their JSON: what is claimed")
    announcerSecret: _Secret = Field(
        description=(
            "32 random bytes of the caller's, in hexadecimal: the claim is that of calls that have them in the header "
            "x-announcer-secret"
        )
    )


class SigningClaimed(Output):
    callsId: str = Field(description="An `id` for `wallet_sendCalls`: keccak256 of the link, the attempt and the calls")
    attempt: int = Field(description="Which batch of the link it is, from 1")
    signingEndsAt: int = Field(description="Until when nobody else is offered the payment, in Unix seconds")


class SigningEnded(Output):
    isEnded: bool = Field(description="Whether the caller had the claim")


def claim_signing(call: Call[ClaimSigning, None]) -> SigningClaimed:
    claimant = str(announcer_of(call.body.announcerSecret))
    claimed = flows.claim(call.services, call.path["token"], Viewer.of(call.caller), claimant, call.body.calls)
    ends_at = int(claimed.ends_at.timestamp())
    return SigningClaimed(callsId=calls_id(claimed), attempt=claimed.attempt, signingEndsAt=ends_at)


def end_signing(call: Call[None, None]) -> SigningEnded:
    claimant = announcer_of(call.headers.get(HEADER))
    return SigningEnded(isEnded=flows.end(call.services, call.path["token"], Viewer.of(call.caller), claimant))
