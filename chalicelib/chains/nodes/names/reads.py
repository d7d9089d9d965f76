"""Reads for names: what the universal resolver answers to a call, and whether there is a contract at an address."""

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.nodes.rpc import jsonrpc


@frozen
class Answer:
    """What a contract returned, or else what it reverted with; neither if it failed otherwise, or said too much."""

    returned: bytes | None
    reverted: bytes | None = None


@jsonrpc.unavailable_if_malformed
def ask(node: jsonrpc.JsonRpcClient, read: Call) -> Answer:
    """The contract's answer on the newest state. Resolvers are anybody's: one that fails, or answers with more than a
    result may have, is no failure of the node."""
    try:
        (returned,) = node.results([jsonrpc.contract_read(read)])
    except jsonrpc.NodeResponseTooLarge:
        return Answer(None)
    except jsonrpc.RpcError as error:
        if not error.is_revert:
            raise
        if isinstance(error.data, str) and error.data.startswith("0x"):
            return Answer(None, bytes.fromhex(error.data[2:]))
        return Answer(None, b"" if error.says("execution reverted") else None)
    return Answer(bytes.fromhex(returned.removeprefix("0x")))


@jsonrpc.unavailable_if_malformed
def is_contract(node: jsonrpc.JsonRpcClient, address: str) -> bool:
    """Whether an address belongs to a contract and not to a key, which may delegate to one (EIP-7702)."""
    (code,) = node.results([jsonrpc.code_at(address)])
    return len(code) > 2 and not jsonrpc.delegates(code)
