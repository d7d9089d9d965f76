// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./escrow/SignedWallets.sol";
import "./escrow/TokenCollector.sol";

interface IERC3009 {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/// A double of the collector of the same name, which takes tokens by a signed transfer (ERC-3009).
contract ERC3009PaymentCollector is TokenCollector, SignedWallets {
    CollectorType public constant override collectorType = CollectorType.Payment;

    constructor(address escrow, address multicall) TokenCollector(escrow) SignedWallets(multicall) {}

    function _collect(PaymentInfo calldata info, address store, uint256 amount, bytes calldata data)
        internal
        override
    {
        IERC3009(info.token).receiveWithAuthorization(
            info.payer,
            address(this),
            info.maxAmount,
            0,
            info.preApprovalExpiry,
            _payerAgnosticHash(info),
            _unwrapped(data)
        );
        IERC20 token = IERC20(info.token);
        if (info.maxAmount > amount) SafeERC20.safeTransfer(token, info.payer, info.maxAmount - amount);
        SafeERC20.safeTransfer(token, store, amount);
    }
}
