// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./escrow/TokenCollector.sol";

/// A double of the collector of the same name, which takes tokens by an allowance and a call of the payer.
contract PreApprovalPaymentCollector is TokenCollector {
    event PaymentPreApproved(bytes32 indexed paymentInfoHash);

    error PaymentNotPreApproved(bytes32 paymentInfoHash);
    error PaymentAlreadyPreApproved(bytes32 paymentInfoHash);

    CollectorType public constant override collectorType = CollectorType.Payment;
    mapping(bytes32 => bool) public isPreApproved;

    constructor(address escrow) TokenCollector(escrow) {}

    function preApprove(PaymentInfo calldata info) external {
        if (msg.sender != info.payer) revert InvalidSender(msg.sender, info.payer);
        if (block.timestamp >= info.preApprovalExpiry) {
            revert AfterPreApprovalExpiry(uint48(block.timestamp), info.preApprovalExpiry);
        }
        bytes32 name = authCaptureEscrow.getHash(info);
        if (isPreApproved[name]) revert PaymentAlreadyPreApproved(name);
        (bool collected,,) = authCaptureEscrow.paymentState(name);
        if (collected) revert PaymentAlreadyCollected(name);
        isPreApproved[name] = true;
        emit PaymentPreApproved(name);
    }

    function _collect(PaymentInfo calldata info, address store, uint256 amount, bytes calldata) internal override {
        bytes32 name = authCaptureEscrow.getHash(info);
        if (!isPreApproved[name]) revert PaymentNotPreApproved(name);
        SafeERC20.safeTransferFrom(IERC20(info.token), info.payer, store, amount);
    }
}
