"""Models of what a payment on Tron takes. Amounts are in sun, of which a TRX has a million."""

from typing import Annotated, Any

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.checkout.resources.rules import OutOfEnergy, ResourceQuote, StepQuote, advice
from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.gasless.energy.rules import SHOWN_SHORTER
from chalicelib.platform.http.errors import details_of
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Output

_PROBLEMS = ["not_activated", "too_little_trx", "fee_limit", "unknown"]


class StepResources(Output):
    energy: int | None = Field(None, description="With a margin of 10 %; absent if it is not known")
    penalty: int = Field(description="The part of it that is charged because the contract is used much")
    isMeasured: bool = Field(description="The node has run the transaction itself; else its transfers")
    bandwidth: int = Field(description="In bytes")
    energyBurned: str = Field(description="For the energy that the wallet does not have")
    bandwidthBurned: str = Field(description="For the bandwidth that it does not have")
    fees: str = Field(description="For a memo, and for more than one signature")


class DelegationAnswer(Output):
    """What the service delegates to the wallet for this payment, and takes back afterwards."""

    energy: int = Field(description="In units")
    bandwidth: int = Field(description="In bytes")
    expiresAt: str = Field(description="By when a block is to have the payment, in ISO 8601; soon after it ends")


class ResourcesAnswer(Output):
    """What the transactions take of the wallet, by its node's parameters. What is not known is absent."""

    canPay: bool = Field(description="Whether the wallet can pay it; false if that is not known")
    problem: Annotated[str, form(enum=_PROBLEMS)] | None = Field(None, description="Why it cannot")
    advice: str | None = Field(None, description="What to do about it")
    burned: str | None = Field(None, description="All that the network takes")
    missing: str | None = Field(None, description="What the wallet lacks of it")
    activated: bool | None = Field(None, description="Whether the account exists; a transfer of TRX to it creates it")
    energy: int | None = Field(None, description="What the wallet has of energy")
    bandwidth: int | None = Field(None, description="What it has of staked or delegated bandwidth")
    freeBandwidth: int | None = Field(None, description="What is left of the free bandwidth of the day")
    energyPrice: str | None = Field(None, description="Of a unit of energy")
    bandwidthPrice: str | None = Field(None, description="Of a byte of bandwidth")
    activationPrice: str | None = Field(None, description="Of a new account, paid by who sends it TRX")
    memoPrice: str | None = Field(None, description="Of a memo, if the wallet adds one")
    signaturesPrice: str | None = Field(None, description="Of more than one signature, if the account needs several")
    delegation: DelegationAnswer | None = Field(
        None, description="What the service delegates for it; once a block has it, it is part of what the wallet has"
    )
    mayDelegate: bool | None = Field(
        None, description="Of a link: the service may delegate what is lacking (`POST .../tron/energy`)"
    )
    steps: list[StepResources] = Field(description="Of each of `transactions`")


def resources_answer(
    quote: ResourceQuote, delegation: EnergyDelegation | None = None, *, may_delegate: bool = False
) -> ResourcesAnswer:
    problem: dict[str, Any] = {}
    if quote.problem is not None:
        problem = {"problem": quote.problem.value, "advice": advice(quote)}
    facts: dict[str, Any] = {}
    if quote.reading is not None:
        account, prices = quote.reading.account, quote.reading.prices
        facts = {
            "activated": account.is_active,
            "energy": account.energy,
            "bandwidth": account.bandwidth,
            "freeBandwidth": account.free_bandwidth,
            "energyPrice": str(prices.energy),
            "bandwidthPrice": str(prices.bandwidth),
            "activationPrice": str(prices.activation),
            "memoPrice": str(prices.memo),
            "signaturesPrice": str(prices.signatures),
        }
    if quote.is_complete:
        facts |= {"burned": str(quote.burned), "missing": str(quote.missing)}
    if delegation is not None:
        facts["delegation"] = delegation_answer(delegation)
    elif may_delegate:
        facts["mayDelegate"] = True
    steps = [_step(each) for each in quote.steps]
    return ResourcesAnswer(canPay=quote.problem is None, steps=steps, **problem, **facts)


def delegation_answer(made: EnergyDelegation) -> DelegationAnswer:
    return DelegationAnswer(energy=made.energy, bandwidth=made.bandwidth, expiresAt=iso(made.until - SHOWN_SHORTER))


def _step(step: StepQuote) -> StepResources:
    known: dict[str, Any] = {} if step.energy is None else {"energy": step.energy}
    return StepResources(
        penalty=step.penalty,
        isMeasured=step.is_measured,
        bandwidth=step.bandwidth,
        energyBurned=str(step.energy_burned),
        bandwidthBurned=str(step.bandwidth_burned),
        fees=str(step.fees),
        **known,
    )


@details_of.register
def _(error: OutOfEnergy) -> dict[str, Any]:
    assert error.quote.problem is not None, "it names the problem"
    resources = resources_answer(error.quote).model_dump(exclude_unset=True)
    return {"code": error.quote.problem.value, "resources": resources}
