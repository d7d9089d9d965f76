// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What the contracts of commerce payments share: the terms of a payment, their errors, and how they call each other.

struct PaymentInfo {
    address operator;
    address payer;
    address receiver;
    address token;
    uint120 maxAmount;
    uint48 preApprovalExpiry;
    uint48 authorizationExpiry;
    uint48 refundExpiry;
    uint16 minFeeBps;
    uint16 maxFeeBps;
    address feeReceiver;
    uint256 salt;
}

error InvalidSender(address sender, address expected);
error AfterPreApprovalExpiry(uint48 timestamp, uint48 expiry);
error PaymentAlreadyCollected(bytes32 paymentInfoHash);

interface IEscrow {
    function getHash(PaymentInfo calldata paymentInfo) external view returns (bytes32);
    function paymentState(bytes32 paymentInfoHash) external view returns (bool, uint120, uint120);
}

interface ITokenCollector {
    enum CollectorType {
        Payment,
        Refund
    }

    function collectorType() external view returns (CollectorType);
    function collectTokens(
        PaymentInfo calldata paymentInfo,
        address tokenStore,
        uint256 amount,
        bytes calldata collectorData
    ) external;
}
