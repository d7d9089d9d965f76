"""The view that proposes transactions to a Safe."""

from chalicelib.checkout.safe_proposals import flows
from chalicelib.checkout.safe_proposals.schemas import SafeProposal, SafeProposalAnswer
from chalicelib.platform.http.view import Call


def propose_to_safe(call: Call[SafeProposal, None]) -> SafeProposalAnswer:
    return SafeProposalAnswer.of(flows.propose(call.services, call.caller.account_id, call.body.asked))
