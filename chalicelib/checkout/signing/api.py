"""Views that claim to sign the payment of a link, and give the claim back."""

from chalicelib.checkout.signing import flows
from chalicelib.checkout.signing.schemas import ClaimSigning, SigningClaimed, SigningEnded
from chalicelib.payments.links.announcers import HEADER, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.signing import calls_id
from chalicelib.platform.http.view import Call


def claim_signing(call: Call[ClaimSigning, None]) -> SigningClaimed:
    claimant = str(announcer_of(call.body.announcerSecret))
    claimed = flows.claim(call.services, call.path["token"], Viewer.of(call.caller), claimant, call.body.calls)
    ends_at = int(claimed.ends_at.timestamp())
    return SigningClaimed(callsId=calls_id(claimed), attempt=claimed.attempt, signingEndsAt=ends_at)


def end_signing(call: Call[None, None]) -> SigningEnded:
    claimant = announcer_of(call.headers.get(HEADER))
    return SigningEnded(isEnded=flows.end(call.services, call.path["token"], Viewer.of(call.caller), claimant))
