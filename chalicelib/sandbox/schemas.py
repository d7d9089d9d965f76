"""Models of test mode."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StringConstraints, model_validator

from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.platform.http.fields import WHOLE, Address, CurrencyId, NetworkName, ShortText, form
from chalicelib.platform.http.schemas import Input, Output, address_text, rule
from chalicelib.sandbox.flows import ChainState, Outcome, Paid, Wanted
from chalicelib.sandbox.rules import DEEPEST, MOST_AHEAD, MOST_BLOCKS

_SECONDS = int(MOST_AHEAD.total_seconds())


def _check_network(name: str) -> str:
    known = find_network(name)
    if known is None:
        raise rule("is not a network of GET /v2/currencies")
    return known.name


def _check_currency(text: str) -> str:
    token = token_with_id(text)
    if token is None or token.network == "fiat":
        raise rule("is not a token of GET /v2/currencies")
    return token.id


Network = Annotated[NetworkName, StringConstraints(min_length=1, max_length=50), AfterValidator(_check_network)]
TokenId = Annotated[CurrencyId, StringConstraints(min_length=1, max_length=255), AfterValidator(_check_currency)]
PartOrAmount = Annotated[
    str,
    StringConstraints(min_length=1, max_length=80),
    form(r"^(full|half|double|(?![0.]+$)(0|[1-9][0-9]{0,77})(\.[0-9]+)?)$"),
]


class PayInTest(Input):
    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["token"]}, {"required": ["requestId"]}]})

    token: ShortText | None = Field(None, description="The link to pay, by its token; or")
    requestId: ShortText | None = Field(None, description="the request to pay, by its id or payment reference")
    amount: PartOrAmount = Field(
        "full", description="`full`, `half` or `double` of what is left, or an amount of the token as a decimal"
    )
    currency: TokenId | None = Field(
        None, description="The token that is sent, also on another network; the one that is asked for when null"
    )
    payer: Annotated[Address, AfterValidator(address_text)] | None = Field(
        None, description="The wallet that pays; an address of the service's choice when null"
    )
    confirmed: StrictBool = Field(
        True, description="false: the payment is in the newest block only, and POST /v2/test/blocks confirms it"
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.token is None) == (self.requestId is None):
            raise rule("send one of token and requestId", "token")
        return self

    @property
    def wanted(self) -> Wanted:
        token = token_with_id(self.currency) if self.currency is not None else None
        return Wanted(self.amount, token, self.payer, self.confirmed)


class MineBlocks(Input):
    network: Network = Field(description="A network of GET /v2/currencies")
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_BLOCKS), WHOLE] = Field(description="How many")


class Reorganise(Input):
    network: Network = Field(description="A network of GET /v2/currencies")
    blocks: Annotated[int, Field(strict=True, ge=1, le=DEEPEST), WHOLE] = Field(
        description="How many of the newest blocks are removed"
    )
    payments: Literal["vanish", "move"] = Field(
        "vanish", description="What becomes of the payments in them; `move`: they are in later blocks then"
    )


class AdvanceClock(Input):
    seconds: Annotated[int, Field(strict=True, ge=1, le=_SECONDS), WHOLE] = Field(description="By how much")


class _Done(Output):
    now: str = Field(description="The time in the sandbox")
    transfersFound: int = Field(description="How many new payments were read from the virtual chains")
    isComplete: bool = Field(description="false: there was not enough time; the next call for the network goes on")


class PaidInTest(_Done):
    network: str
    transactionHash: str
    blockNumber: int

    @classmethod
    def of(cls, paid: Paid) -> Self:
        tx_hash = paid.tx_hash.removeprefix("0x") if paid.network == "tron" else paid.tx_hash
        return cls(
            network=paid.network, transactionHash=tx_hash, blockNumber=paid.block_number, **_fields_of(paid.outcome)
        )


class ChainMoved(_Done):
    network: str
    head: int = Field(description="The number of the newest block")

    @classmethod
    def of(cls, state: ChainState) -> Self:
        return cls(network=state.network, head=state.head, **_fields_of(state.outcome))


class ClockAnswer(_Done):
    linksExpired: int

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        return cls(linksExpired=outcome.expired, **_fields_of(outcome))


class VirtualChainAnswer(Output):
    network: str = Field(description="Its name")
    head: int = Field(description="The number of the newest block")


class SandboxAnswer(Output):
    now: str = Field(description="The time in the sandbox")
    chains: list[VirtualChainAnswer] = Field(description="The virtual chains that have blocks")


def _fields_of(outcome: Outcome) -> dict[str, Any]:
    return {"now": iso(outcome.now), "transfersFound": outcome.found, "isComplete": outcome.is_complete}
