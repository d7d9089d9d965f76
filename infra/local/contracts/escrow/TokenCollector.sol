// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import "./PaymentInfo.sol";

/// A collector of tokens: the escrow alone may call it.
abstract contract TokenCollector is ITokenCollector {
    error OnlyAuthCaptureEscrow();

    IEscrow public immutable authCaptureEscrow;

    constructor(address escrow) {
        authCaptureEscrow = IEscrow(escrow);
    }

    function collectTokens(
        PaymentInfo calldata paymentInfo,
        address tokenStore,
        uint256 amount,
        bytes calldata collectorData
    ) external override {
        if (msg.sender != address(authCaptureEscrow)) revert OnlyAuthCaptureEscrow();
        _collect(paymentInfo, tokenStore, amount, collectorData);
    }

    function _collect(PaymentInfo calldata info, address store, uint256 amount, bytes calldata data) internal virtual;

    /// What a payer signs names the payment without its payer.
    function _payerAgnosticHash(PaymentInfo memory info) internal view returns (bytes32) {
        info.payer = address(0);
        return authCaptureEscrow.getHash(info);
    }
}
