"""Decides what a wallet on Tron lacks of energy and bandwidth for a payment, and whether that can be delegated."""

from chalicelib.checkout.resources.rules import Problem, ResourceQuote, advice
from chalicelib.gasless.energy.rules import MOST_BANDWIDTH, MOST_ENERGY, Wish
from chalicelib.payments.links.records import Link, PaymentType

_KINDS = (PaymentType.SINGLE, PaymentType.BATCH)


def wish_of(link: Link, wallet: str, quote: ResourceQuote) -> Wish:
    """What the wallet lacks: the energy that it would burn TRX for, and all bandwidth if it would burn any for it.

    What is staked or delegated pays for a transaction before the free bandwidth does, so that less could be used up by
    the first one.
    """
    account = quote.reading.account if quote.reading is not None else None
    energy = sum(each.energy or 0 for each in quote.steps) - (account.energy if account else 0)
    bandwidth = sum(each.bandwidth for each in quote.steps) - (account.bandwidth if account else 0)
    burns_bandwidth = any(each.bandwidth_burned for each in quote.steps)
    return Wish(wallet, link.account_id, link.token, max(energy, 0), max(bandwidth, 0) if burns_bandwidth else 0)


def why_not(link: Link, quote: ResourceQuote) -> str | None:
    """Why nothing is delegated for a payment, and what to do instead; None if what the wallet lacks can be.

    Nothing is for a link whose payee anybody may have named, by a client id that is public: they could pay themselves.
    """
    if link.payment_type not in _KINDS or not link.has_known_payees:
        return (
            "Energy is delegated for links of one payment or a batch, and only if a secret credential or allowedPayees "
            "of the client ID has named the payees: send the wallet the TRX that it lacks"
        )
    if quote.problem is None:
        return "The wallet can pay this link as it is: nothing is delegated"
    if quote.problem is not Problem.TOO_LITTLE_TRX:
        return advice(quote)
    if not quote.is_complete:
        return "It is not known what the payment takes: check that the wallet has the tokens, then ask anew"
    wish = wish_of(link, "", quote)
    if wish.energy > MOST_ENERGY or wish.bandwidth > MOST_BANDWIDTH:
        return "The payment takes more than is delegated for one: pay less at once, or send the wallet TRX"
    return None
