// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "@openzeppelin/contracts/access/AccessControl.sol";
import "@openzeppelin/contracts/access/Ownable.sol";
import "@openzeppelin/contracts/security/Pausable.sol";
import "@openzeppelin/contracts/security/ReentrancyGuard.sol";
import "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

interface IERC20FeeProxy {
    function transferFromWithReferenceAndFee(
        address token,
        address to,
        uint256 amount,
        bytes calldata paymentReference,
        uint256 feeAmount,
        address feeAddress
    ) external;
}

/// A double of the contract of the same name, written from its interface and its checks: no published package has it.
/// Roles are in a mapping, which `Chain.etch` does not copy: after that the owner names the relayer by `setRelayer`.
contract ERC20RecurringPaymentProxy is AccessControl, Ownable, Pausable, ReentrancyGuard, EIP712 {
    using SafeERC20 for IERC20;

    struct SchedulePermit {
        address subscriber;
        address token;
        address recipient;
        address feeAddress;
        uint128 amount;
        uint128 feeAmount;
        uint128 relayerFee;
        uint32 periodSeconds;
        uint32 firstPayment;
        uint8 totalPayments;
        uint256 nonce;
        uint256 deadline;
        bool strictOrder;
    }

    error ERC20RecurringPaymentProxy__BadSignature();
    error ERC20RecurringPaymentProxy__SignatureExpired();
    error ERC20RecurringPaymentProxy__PaymentOutOfOrder();
    error ERC20RecurringPaymentProxy__IndexOutOfBounds();
    error ERC20RecurringPaymentProxy__NotDueYet();
    error ERC20RecurringPaymentProxy__AlreadyPaid();

    bytes32 public constant RELAYER_ROLE = keccak256("RELAYER_ROLE");
    bytes32 private constant PERMIT_TYPE = keccak256(
        "SchedulePermit(address subscriber,address token,address recipient,address feeAddress,uint128 amount,"
        "uint128 feeAmount,uint128 relayerFee,uint32 periodSeconds,uint32 firstPayment,uint8 totalPayments,"
        "uint256 nonce,uint256 deadline,bool strictOrder)"
    );

    IERC20FeeProxy public erc20FeeProxy;
    mapping(bytes32 => uint256) public triggeredPaymentsBitmap;
    mapping(bytes32 => uint8) public lastPaymentIndex;

    constructor(address admin, address relayer, address feeProxy) EIP712("ERC20RecurringPaymentProxy", "1") {
        _transferOwnership(admin);
        _grantRole(RELAYER_ROLE, relayer);
        erc20FeeProxy = IERC20FeeProxy(feeProxy);
    }

    function triggerRecurringPayment(
        SchedulePermit calldata permit,
        bytes calldata signature,
        uint8 index,
        bytes calldata paymentReference
    ) external onlyRole(RELAYER_ROLE) whenNotPaused nonReentrant {
        _take(permit, _hashTypedDataV4(keccak256(abi.encode(PERMIT_TYPE, permit))), signature, index);
        _pay(permit, paymentReference);
    }

    function setRelayer(address oldRelayer, address newRelayer) external onlyOwner {
        _revokeRole(RELAYER_ROLE, oldRelayer);
        _grantRole(RELAYER_ROLE, newRelayer);
    }

    function setFeeProxy(address newProxy) external onlyOwner {
        erc20FeeProxy = IERC20FeeProxy(newProxy);
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    function _take(SchedulePermit calldata permit, bytes32 digest, bytes calldata signature, uint8 index) private {
        if (ECDSA.recover(digest, signature) != permit.subscriber) revert ERC20RecurringPaymentProxy__BadSignature();
        if (block.timestamp > permit.deadline) revert ERC20RecurringPaymentProxy__SignatureExpired();
        if (permit.strictOrder) {
            if (uint256(index) != uint256(lastPaymentIndex[digest]) + 1) {
                revert ERC20RecurringPaymentProxy__PaymentOutOfOrder();
            }
            lastPaymentIndex[digest] = index;
        }
        if (index > permit.totalPayments) revert ERC20RecurringPaymentProxy__IndexOutOfBounds();
        uint256 due = permit.firstPayment + uint256(index - 1) * permit.periodSeconds;
        if (block.timestamp < due) revert ERC20RecurringPaymentProxy__NotDueYet();
        uint256 triggered = triggeredPaymentsBitmap[digest];
        uint256 bit = uint256(1) << index;
        if (triggered & bit != 0) revert ERC20RecurringPaymentProxy__AlreadyPaid();
        triggeredPaymentsBitmap[digest] = triggered | bit;
    }

    function _pay(SchedulePermit calldata permit, bytes calldata paymentReference) private {
        IERC20 token = IERC20(permit.token);
        uint256 paid = uint256(permit.amount) + permit.feeAmount;
        token.safeTransferFrom(permit.subscriber, address(this), paid + permit.relayerFee);
        token.safeApprove(address(erc20FeeProxy), 0);
        token.safeApprove(address(erc20FeeProxy), paid);
        erc20FeeProxy.transferFromWithReferenceAndFee(
            permit.token, permit.recipient, permit.amount, paymentReference, permit.feeAmount, permit.feeAddress
        );
        if (permit.relayerFee != 0) token.safeTransfer(msg.sender, permit.relayerFee);
    }
}
