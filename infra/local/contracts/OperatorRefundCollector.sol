// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./escrow/TokenCollector.sol";

/// A double of the collector of the same name, which takes what is refunded from the operator, by an allowance.
contract OperatorRefundCollector is TokenCollector {
    CollectorType public constant override collectorType = CollectorType.Refund;

    constructor(address escrow) TokenCollector(escrow) {}

    function _collect(PaymentInfo calldata info, address store, uint256 amount, bytes calldata) internal override {
        SafeERC20.safeTransferFrom(IERC20(info.token), info.operator, store, amount);
    }
}
