"""Reads prices, accounts and the energy of calls from a Tron node, and refuses what cannot be true.

    /wallet/getchainparameters        {chainParameter: [{key, value}]}      prices in sun; a value of 0 is left out
    /wallet/getaccountresource        {freeNetUsed, freeNetLimit, NetUsed, NetLimit, EnergyUsed, EnergyLimit,
                                       TotalEnergyLimit ...}                fields of 0 are left out; {} is no account
    /wallet/triggerconstantcontract   {energy_used, energy_penalty}         the penalty is part of the energy
    /wallet/gettransactionbyid        {txID ...}                            {} if it is in no block
    /wallet/gettransactionfrompending {txID ...}                            {} if it does not wait for a block

A wrong price or account would promise a payment that burns TRX and fails. What is missing, negative or out of reason is
no answer.
"""

from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountResources, CallEnergy, ResourcePrices
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, unavailable_if_malformed

_LONGEST_RESPONSE = 64 * 1024
_LONGEST_TRANSACTION = 2 * 1024 * 1024
"""Twice the hex of the longest transaction that java-tron accepts."""
_HIGHEST_PRICE = 1_000_000
"""Sun; thousands of times what energy and bandwidth have cost."""
_HIGHEST_FEE = 10**9
"""Sun; hundreds of times the price of an account, and the highest fee for a memo that java-tron accepts a vote for."""
_MOST_FREE = 100_000
"""Bytes; the free bandwidth of a day has been 5,000, 1,500 and 600."""
_MOST_ENERGY = 10**12
"""Units that all accounts have together: there are 180,000,000,000."""
LEAST_ENERGY = 5_000
"""What writing to storage takes: no approval or transfer of a token takes less."""
_MOST_OF_CALL = 100_000_000
"""What java-tron gives to a constant call."""


@unavailable_if_malformed
def read_prices(node: JsonRpcClient) -> ResourcePrices:
    """The prices by the network's parameters, which its representatives vote on."""
    parameters = node.post("/wallet/getchainparameters", {}, _LONGEST_RESPONSE)["chainParameter"]
    known = {each["key"]: each.get("value", 0) for each in parameters}
    if len(known) != len(parameters):
        raise ValueError("a parameter is there twice")
    activation = whole_number(known, "getCreateNewAccountFeeInSystemContract", _HIGHEST_FEE)
    return ResourcePrices(
        energy=BaseUnits(whole_number(known, "getEnergyFee", _HIGHEST_PRICE, least=1)),
        bandwidth=BaseUnits(whole_number(known, "getTransactionFee", _HIGHEST_PRICE, least=1)),
        activation=BaseUnits(activation + whole_number(known, "getCreateAccountFee", _HIGHEST_FEE)),
        memo=BaseUnits(whole_number(known, "getMemoFee", _HIGHEST_FEE)),
        signatures=BaseUnits(whole_number(known, "getMultiSignFee", _HIGHEST_FEE)),
    )


@unavailable_if_malformed
def read_account(node: JsonRpcClient, address: str) -> AccountResources:
    """What an account can spend now."""
    asked = {"address": "41" + address_bytes(address).hex()}
    found = node.post("/wallet/getaccountresource", asked, _LONGEST_RESPONSE)
    if found == {}:
        return AccountResources(is_active=False)
    total = whole_number(found, "TotalEnergyLimit", _MOST_ENERGY, least=1)
    whole_number(found, "freeNetLimit", _MOST_FREE, least=1)
    return AccountResources(
        is_active=True,
        energy=_left(found, "EnergyUsed", "EnergyLimit", total),
        bandwidth=_left(found, "NetUsed", "NetLimit", _MOST_ENERGY),
        free_bandwidth=_left(found, "freeNetUsed", "freeNetLimit", _MOST_FREE),
    )


@unavailable_if_malformed
def has_transaction(node: JsonRpcClient, tx_id: str) -> bool:
    """Whether the node has a transaction (64 lower-case digits), waiting or in a block. At most two requests."""
    for path in ("/wallet/gettransactionfrompending", "/wallet/gettransactionbyid"):
        found = node.post(path, {"value": tx_id}, _LONGEST_TRANSACTION)
        if found != {}:
            if str(found["txID"]).lower() != tx_id:
                raise ValueError("another transaction than the requested one")
            return True
    return False


def call_energy(response: Mapping[str, Any]) -> CallEnergy:
    """The energy in the response to a constant call that succeeds. Raises ValueError or TypeError."""
    energy = whole_number(response, "energy_used", _MOST_OF_CALL, least=LEAST_ENERGY)
    return CallEnergy(energy, whole_number(response, "energy_penalty", energy))


def _left(fields: Mapping[str, Any], used: str, limit: str, most: int) -> int:
    """What is left of a limit; more than it can be used where a stake has shrunk."""
    return max(whole_number(fields, limit, most) - whole_number(fields, used, _MOST_ENERGY), 0)


def whole_number(fields: Mapping[str, Any], name: str, most: int, least: int = 0) -> int:
    """A whole number from `least` to `most`; one that is left out is 0."""
    value = fields.get(name, 0)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is out of reason")
    return value
