"""Models of proposing transactions to a Safe."""

import json
from typing import Annotated, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import safe_tx
from chalicelib.checkout.safe_proposals.flows import Asked, Made
from chalicelib.checkout.schemas.link import EvmWallet
from chalicelib.platform.http.fields import WHOLE, NetworkName, together
from chalicelib.platform.http.schemas import Input, Output, rule

_MOST, _LONGEST_DATA, _LAST_NONCE = 10, 20_000, 2**53 - 1


class ProposedCall(Input):
    to: EvmWallet = Field(description="The contract that is called")
    data: Annotated[str, StringConstraints(pattern=r"^0x([0-9a-fA-F]{2})*$", max_length=_LONGEST_DATA)] = Field(
        description="The call, as 0x hex"
    )
    value: Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,77})$")] = Field(
        "0", description="Base units of the native coin"
    )

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        if int(self.value) > MAX_UINT256:
            raise rule("is too large", "value")
        return self


class SafeProposal(Input):
    """Without `nonce` and `signature` the answer says what to sign; with them it is proposed."""

    model_config = ConfigDict(json_schema_extra=together({"nonce": ["signature"], "signature": ["nonce"]}))

    network: NetworkName = Field(description="Where the Safe is")
    safe: EvmWallet = Field(description="The Safe that makes the calls")
    owner: EvmWallet = Field(description="The wallet that signs; not another contract")
    transactions: Annotated[list[ProposedCall], Field(min_length=1, max_length=_MOST)] = Field(
        description="As the API has given them, in their order: one transaction of the Safe makes all of them or none"
    )
    nonce: Annotated[int, Field(strict=True, ge=0, le=_LAST_NONCE), WHOLE] | None = Field(
        None, description="As it was answered"
    )
    signature: Annotated[str, StringConstraints(pattern=r"^(0x)?[0-9a-fA-F]{130}$")] | None = Field(
        None, description="Of the typed data, by the owner"
    )

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.nonce is None) != (self.signature is None):
            raise rule("nonce and signature are sent together")
        return self

    @property
    def asked(self) -> Asked:
        calls = [Transaction(each.to, each.data, int(each.value)) for each in self.transactions]
        return Asked(self.network, self.safe, self.owner, calls, self.nonce, self.signature)


class SafeProposalAnswer(Output):
    safeTxHash: str = Field(description="What the owners sign, and how the Safe's apps call the transaction")
    nonce: int = Field(description="That of the transaction, after all that are queued")
    typedData: str = Field(description="What the owner signs, as JSON: `{domain, types, values}`")
    isProposed: bool = Field(description="Whether the Safe Transaction Service has it")

    @classmethod
    def of(cls, made: Made) -> Self:
        proposal = made.proposal
        signed = safe_tx(made.chain_id, proposal.safe, proposal.transaction, proposal.terms)
        values = {name: str(value) for name, value in signed["message"].items()}
        typed = json.dumps({"domain": signed["domain"], "types": signed["types"], "values": values})
        nonce = proposal.terms.nonce
        return cls(safeTxHash=made.safe_tx_hash, nonce=nonce, typedData=typed, isProposed=made.is_proposed)
