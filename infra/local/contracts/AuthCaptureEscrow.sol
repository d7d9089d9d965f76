// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "@openzeppelin/contracts/proxy/Clones.sol";
import "@openzeppelin/contracts/security/ReentrancyGuard.sol";
import "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import "./escrow/PaymentInfo.sol";
import "./TokenStore.sol";

/// A double of version 1.0 of the contract of the same name (github.com/base/commerce-payments), written from its
/// interface and its checks: no published package has it. Its store of tokens is given, so that it works where it is
/// etched.
contract AuthCaptureEscrow is ReentrancyGuard {
    struct PaymentState {
        bool hasCollectedPayment;
        uint120 capturableAmount;
        uint120 refundableAmount;
    }

    event PaymentCharged(
        bytes32 indexed paymentInfoHash,
        PaymentInfo paymentInfo,
        uint256 amount,
        address tokenCollector,
        uint16 feeBps,
        address feeReceiver
    );
    event PaymentAuthorized(
        bytes32 indexed paymentInfoHash, PaymentInfo paymentInfo, uint256 amount, address tokenCollector
    );
    event PaymentCaptured(bytes32 indexed paymentInfoHash, uint256 amount, uint16 feeBps, address feeReceiver);
    event PaymentVoided(bytes32 indexed paymentInfoHash, uint256 amount);
    event PaymentReclaimed(bytes32 indexed paymentInfoHash, uint256 amount);
    event PaymentRefunded(bytes32 indexed paymentInfoHash, uint256 amount, address tokenCollector);
    event TokenStoreCreated(address indexed operator, address tokenStore);

    error ZeroAmount();
    error AmountOverflow(uint256 amount, uint256 limit);
    error ExceedsMaxAmount(uint256 amount, uint256 maxAmount);
    error InvalidExpiries(uint48 preApproval, uint48 authorization, uint48 refund);
    error FeeBpsOverflow(uint16 feeBps);
    error InvalidFeeBpsRange(uint16 minFeeBps, uint16 maxFeeBps);
    error FeeBpsOutOfRange(uint16 feeBps, uint16 minFeeBps, uint16 maxFeeBps);
    error ZeroFeeReceiver();
    error InvalidFeeReceiver(address attempted, address expected);
    error InvalidCollectorForOperation();
    error TokenCollectionFailed();
    error AfterAuthorizationExpiry(uint48 timestamp, uint48 expiry);
    error InsufficientAuthorization(bytes32 paymentInfoHash, uint256 authorizedAmount, uint256 requestedAmount);
    error ZeroAuthorization(bytes32 paymentInfoHash);
    error BeforeAuthorizationExpiry(uint48 timestamp, uint48 expiry);
    error AfterRefundExpiry(uint48 timestamp, uint48 expiry);
    error RefundExceedsCapture(uint256 refund, uint256 captured);

    bytes32 public constant PAYMENT_INFO_TYPEHASH = keccak256(
        "PaymentInfo(address operator,address payer,address receiver,address token,uint120 maxAmount,"
        "uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps,uint16 maxFeeBps,"
        "address feeReceiver,uint256 salt)"
    );

    address public immutable tokenStoreImplementation;
    mapping(bytes32 => PaymentState) public paymentState;

    constructor(address store) {
        tokenStoreImplementation = store;
    }

    modifier by(address sender) {
        if (msg.sender != sender) revert InvalidSender(msg.sender, sender);
        _;
    }

    modifier storable(uint256 amount) {
        if (amount == 0) revert ZeroAmount();
        if (amount > type(uint120).max) revert AmountOverflow(amount, type(uint120).max);
        _;
    }

    function authorize(PaymentInfo calldata info, uint256 amount, address collector, bytes calldata data)
        external
        nonReentrant
        by(info.operator)
        storable(amount)
    {
        _checkTerms(info, amount);
        bytes32 name = _begin(info, uint120(amount), 0);
        emit PaymentAuthorized(name, info, amount, collector);
        _collect(info, amount, collector, data, ITokenCollector.CollectorType.Payment);
    }

    function charge(
        PaymentInfo calldata info,
        uint256 amount,
        address collector,
        bytes calldata data,
        uint16 feeBps,
        address feeReceiver
    ) external nonReentrant by(info.operator) storable(amount) {
        _checkTerms(info, amount);
        _checkFee(info, feeBps, feeReceiver);
        bytes32 name = _begin(info, 0, uint120(amount));
        emit PaymentCharged(name, info, amount, collector, feeBps, feeReceiver);
        _collect(info, amount, collector, data, ITokenCollector.CollectorType.Payment);
        _distribute(info, amount, feeBps, feeReceiver);
    }

    function capture(PaymentInfo calldata info, uint256 amount, uint16 feeBps, address feeReceiver)
        external
        nonReentrant
        by(info.operator)
        storable(amount)
    {
        _checkFee(info, feeBps, feeReceiver);
        if (block.timestamp >= info.authorizationExpiry) {
            revert AfterAuthorizationExpiry(uint48(block.timestamp), info.authorizationExpiry);
        }
        bytes32 name = getHash(info);
        PaymentState storage state = paymentState[name];
        uint120 held = state.capturableAmount;
        if (held < amount) revert InsufficientAuthorization(name, held, amount);
        state.capturableAmount = held - uint120(amount);
        state.refundableAmount += uint120(amount);
        emit PaymentCaptured(name, amount, feeBps, feeReceiver);
        _distribute(info, amount, feeBps, feeReceiver);
    }

    function void(PaymentInfo calldata info) external nonReentrant by(info.operator) {
        (bytes32 name, uint256 held) = _release(info);
        emit PaymentVoided(name, held);
        _send(info.operator, info.token, info.payer, held);
    }

    function reclaim(PaymentInfo calldata info) external nonReentrant by(info.payer) {
        if (block.timestamp < info.authorizationExpiry) {
            revert BeforeAuthorizationExpiry(uint48(block.timestamp), info.authorizationExpiry);
        }
        (bytes32 name, uint256 held) = _release(info);
        emit PaymentReclaimed(name, held);
        _send(info.operator, info.token, info.payer, held);
    }

    function refund(PaymentInfo calldata info, uint256 amount, address collector, bytes calldata data)
        external
        nonReentrant
        by(info.operator)
        storable(amount)
    {
        if (block.timestamp >= info.refundExpiry) {
            revert AfterRefundExpiry(uint48(block.timestamp), info.refundExpiry);
        }
        bytes32 name = getHash(info);
        uint120 captured = paymentState[name].refundableAmount;
        if (captured < amount) revert RefundExceedsCapture(amount, captured);
        paymentState[name].refundableAmount = captured - uint120(amount);
        emit PaymentRefunded(name, amount, collector);
        _collect(info, amount, collector, data, ITokenCollector.CollectorType.Refund);
        _send(info.operator, info.token, info.payer, amount);
    }

    function getHash(PaymentInfo calldata info) public view returns (bytes32) {
        bytes32 terms = keccak256(abi.encode(PAYMENT_INFO_TYPEHASH, info));
        return keccak256(abi.encode(block.chainid, address(this), terms));
    }

    function getTokenStore(address operator) public view returns (address) {
        return Clones.predictDeterministicAddress(tokenStoreImplementation, bytes32(bytes20(operator)), address(this));
    }

    function _begin(PaymentInfo calldata info, uint120 capturable, uint120 refundable) private returns (bytes32 name) {
        name = getHash(info);
        if (paymentState[name].hasCollectedPayment) revert PaymentAlreadyCollected(name);
        paymentState[name] = PaymentState(true, capturable, refundable);
    }

    function _release(PaymentInfo calldata info) private returns (bytes32 name, uint256 held) {
        name = getHash(info);
        held = paymentState[name].capturableAmount;
        if (held == 0) revert ZeroAuthorization(name);
        paymentState[name].capturableAmount = 0;
    }

    function _collect(
        PaymentInfo calldata info,
        uint256 amount,
        address collector,
        bytes calldata data,
        ITokenCollector.CollectorType wanted
    ) private {
        if (ITokenCollector(collector).collectorType() != wanted) revert InvalidCollectorForOperation();
        address store = getTokenStore(info.operator);
        uint256 before = IERC20(info.token).balanceOf(store);
        ITokenCollector(collector).collectTokens(info, store, amount, data);
        if (IERC20(info.token).balanceOf(store) != before + amount) revert TokenCollectionFailed();
    }

    function _distribute(PaymentInfo calldata info, uint256 amount, uint16 feeBps, address feeReceiver) private {
        uint256 fee = amount * feeBps / 10_000;
        if (fee > 0) _send(info.operator, info.token, feeReceiver, fee);
        if (amount > fee) _send(info.operator, info.token, info.receiver, amount - fee);
    }

    function _send(address operator, address token, address recipient, uint256 amount) private {
        address store = getTokenStore(operator);
        if (store.code.length == 0) {
            Clones.cloneDeterministic(tokenStoreImplementation, bytes32(bytes20(operator)));
            emit TokenStoreCreated(operator, store);
        }
        TokenStore(store).sendTokens(token, recipient, amount);
    }

    function _checkTerms(PaymentInfo calldata info, uint256 amount) private view {
        uint48 time = uint48(block.timestamp);
        if (amount > info.maxAmount) revert ExceedsMaxAmount(amount, info.maxAmount);
        if (time >= info.preApprovalExpiry) revert AfterPreApprovalExpiry(time, info.preApprovalExpiry);
        if (info.preApprovalExpiry > info.authorizationExpiry || info.authorizationExpiry > info.refundExpiry) {
            revert InvalidExpiries(info.preApprovalExpiry, info.authorizationExpiry, info.refundExpiry);
        }
        if (info.maxFeeBps > 10_000) revert FeeBpsOverflow(info.maxFeeBps);
        if (info.minFeeBps > info.maxFeeBps) revert InvalidFeeBpsRange(info.minFeeBps, info.maxFeeBps);
    }

    function _checkFee(PaymentInfo calldata info, uint16 feeBps, address feeReceiver) private pure {
        if (feeBps < info.minFeeBps || feeBps > info.maxFeeBps) {
            revert FeeBpsOutOfRange(feeBps, info.minFeeBps, info.maxFeeBps);
        }
        if (feeReceiver == address(0) && feeBps > 0) revert ZeroFeeReceiver();
        if (info.feeReceiver != address(0) && info.feeReceiver != feeReceiver) {
            revert InvalidFeeReceiver(feeReceiver, info.feeReceiver);
        }
    }
}
