"""Reads from a Tron node what an account can delegate of its stake and what it delegates, and refuses what cannot be.

    /wallet/getcandelegatedmaxsize          {max_size}                        in sun; 0 is left out
    /wallet/getaccountresource              {TotalEnergyLimit, TotalEnergyWeight, TotalNetLimit, TotalNetWeight ...}
    /walletsolidity/getdelegatedresourcev2  {delegatedResource: [{from, to, frozen_balance_for_energy,
                                             frozen_balance_for_bandwidth}]}  one for what is locked, one for the rest
    /wallet[solidity]/getnowblock           {blockID, block_header: {raw_data: {number, timestamp}}}
"""

from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tron import Resource
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock, ResourceTotals, Stake
from chalicelib.chains.nodes.resources.reading import whole_number
from chalicelib.chains.nodes.rpc.jsonrpc import MAX_RESPONSE_BYTES, JsonRpcClient, unavailable_if_malformed

_LONGEST_RESPONSE = 64 * 1024
_MOST_SUN = 10**17
"""A hundred billion TRX, about as many as there are."""
_MOST_UNITS = 10**15
_BLOCK_ID_BYTES = 32


@unavailable_if_malformed
def read_stake(node: JsonRpcClient, owner: str) -> Stake:
    """What an account can delegate now. Three requests."""
    found = node.post("/wallet/getaccountresource", {"address": _hex41(owner)}, _LONGEST_RESPONSE)
    return Stake(
        energy=_delegable(node, owner, Resource.ENERGY),
        bandwidth=_delegable(node, owner, Resource.BANDWIDTH),
        energy_totals=_totals(found, "TotalEnergyLimit", "TotalEnergyWeight"),
        bandwidth_totals=_totals(found, "TotalNetLimit", "TotalNetWeight"),
    )


@unavailable_if_malformed
def read_delegated(node: JsonRpcClient, owner: str, receiver: str) -> Delegated:
    """What `owner` delegates to `receiver` after the newest solid block, or after a later one. Two requests."""
    time = _time_of(node.post("/walletsolidity/getnowblock", {}, MAX_RESPONSE_BYTES))
    asked = {"fromAddress": _hex41(owner), "toAddress": _hex41(receiver)}
    found = node.post("/walletsolidity/getdelegatedresourcev2", asked, _LONGEST_RESPONSE)
    if not isinstance(found, dict) or "Error" in found:
        raise ValueError("no answer about delegations")
    energy = bandwidth = 0
    for each in found.get("delegatedResource", ()):
        if (each["from"].lower(), each["to"].lower()) != tuple(asked.values()):
            raise ValueError("a delegation between other accounts")
        energy += whole_number(each, "frozen_balance_for_energy", _MOST_SUN)
        bandwidth += whole_number(each, "frozen_balance_for_bandwidth", _MOST_SUN)
    return Delegated(time, BaseUnits(energy), BaseUnits(bandwidth))


@unavailable_if_malformed
def read_reference_block(node: JsonRpcClient) -> ReferenceBlock:
    """The newest block, for a transaction to refer to."""
    block = node.post("/wallet/getnowblock", {}, MAX_RESPONSE_BYTES)
    block_id = bytes.fromhex(block["blockID"])
    if len(block_id) != _BLOCK_ID_BYTES:
        raise ValueError("an id of a block has 32 bytes")
    return ReferenceBlock(block_id[6:8], block_id[8:16], _time_of(block))


def _delegable(node: JsonRpcClient, owner: str, resource: Resource) -> BaseUnits:
    asked = {"owner_address": _hex41(owner), "type": int(resource)}
    found = node.post("/wallet/getcandelegatedmaxsize", asked, _LONGEST_RESPONSE)
    if "Error" in found:
        raise ValueError("no answer about a stake")
    return BaseUnits(whole_number(found, "max_size", _MOST_SUN))


def _totals(fields: dict[str, Any], limit: str, weight: str) -> ResourceTotals:
    return ResourceTotals(whole_number(fields, limit, _MOST_UNITS, 1), whole_number(fields, weight, _MOST_UNITS, 1))


def _time_of(block: dict[str, Any]) -> int:
    return whole_number(block["block_header"]["raw_data"], "timestamp", 2**53, 1)


def _hex41(address: str) -> str:
    return "41" + address_bytes(address).hex()
