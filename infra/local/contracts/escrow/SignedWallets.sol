// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IMulticall3 {
    struct Call {
        address target;
        bytes callData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable;
}

/// Signatures of wallets that are not deployed yet (ERC-6492): the wallet is made first, by a contract that owns nothing.
abstract contract SignedWallets {
    bytes32 private constant MAGIC = 0x6492649264926492649264926492649264926492649264926492649264926492;

    IMulticall3 public immutable multicall3;

    constructor(address multicall) {
        multicall3 = IMulticall3(multicall);
    }

    function _unwrapped(bytes calldata signature) internal returns (bytes memory) {
        uint256 length = signature.length;
        if (length < 32 || bytes32(signature[length - 32:]) != MAGIC) return signature;
        (address target, bytes memory data, bytes memory inner) =
            abi.decode(signature[:length - 32], (address, bytes, bytes));
        IMulticall3.Call[] memory calls = new IMulticall3.Call[](1);
        calls[0] = IMulticall3.Call(target, data);
        multicall3.tryAggregate(false, calls);
        return inner;
    }
}
