"""The ids of steps: which link a route pays, from where and for whom, so that its transaction can be had anew.

    01K...:BASE:USDC:0xwallet             a wallet
    01K...:BASE:USDC:0xwallet:safe        a Safe
    01K...:BASE:USDC:0xwallet:0xowner     a smart account, and the wallet that funds it

An id is not proof: whoever sends one asks for what /pay gives for the same query.
"""

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.records import PayableLink, PaymentType
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.requests.rules import currency_of

_SAFE = "safe"
_FOREIGN = "This step does not pay this link: send metadata.rawStep of its /pay as step"


@frozen
class Step:
    """A route of a link, and how its payer wants to pay it."""

    link_token: str
    options: PayOptions

    @classmethod
    def of(cls, link_token: str, source: Token, options: PayOptions) -> "Step":
        """The step of a route that pays from `source`."""
        named = SourceToken(require_network(source.network).label, source.symbol)
        return cls(link_token, PayOptions(options.wallet, named, options.is_safe, options.eoa_wallet))

    @property
    def text(self) -> str:
        """The id of the step."""
        options = self.options
        assert options.source is not None and options.wallet is not None, "a route has a source and a payer"
        funded = _SAFE if options.is_safe else options.eoa_wallet
        parts = (self.link_token, options.source.chain, options.source.token, options.wallet, funded)
        return ":".join(part for part in parts if part is not None)

    @classmethod
    def parse(cls, text: str) -> "Step":
        """The step with an id. Raises BadRequest for a text that is not one."""
        parts = text.split(":")
        if len(parts) not in (4, 5):
            raise BadRequest(_FOREIGN)
        token, chain, symbol, wallet, *funded = parts
        is_safe = funded == [_SAFE]
        eoa_wallet = evm_address(funded[0]) if funded and not is_safe else None
        return cls(token, PayOptions(evm_address(wallet), SourceToken(chain, symbol), is_safe, eoa_wallet))


def check_step(step: Step, payable: PayableLink, to_chain_id: int, to_address: str) -> None:
    """Raises BadRequest unless a step is of this link, and leads to the fee proxy of its network."""
    is_single = payable.link.payment_type is PaymentType.SINGLE
    token = currency_of(payable.requests[0]) if is_single and payable.requests else None
    if token is None or step.link_token != payable.link.token or token.chain_id != to_chain_id:
        raise BadRequest(_FOREIGN)
    if not same_address(address_of(ERC20_FEE_PROXY, token.network), to_address):
        raise BadRequest(_FOREIGN)
