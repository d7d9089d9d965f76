// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./escrow/SignedWallets.sol";
import "./escrow/TokenCollector.sol";

interface IPermit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external;
}

/// A double of the collector of the same name, which takes tokens by a signature for Permit2.
contract Permit2PaymentCollector is TokenCollector, SignedWallets {
    CollectorType public constant override collectorType = CollectorType.Payment;
    IPermit2 public immutable permit2;

    constructor(address escrow, address permit, address multicall) TokenCollector(escrow) SignedWallets(multicall) {
        permit2 = IPermit2(permit);
    }

    function _collect(PaymentInfo calldata info, address store, uint256 amount, bytes calldata data)
        internal
        override
    {
        permit2.permitTransferFrom(
            IPermit2.PermitTransferFrom(
                IPermit2.TokenPermissions(info.token, info.maxAmount),
                uint256(_payerAgnosticHash(info)),
                info.preApprovalExpiry
            ),
            IPermit2.SignatureTransferDetails(store, amount),
            info.payer,
            _unwrapped(data)
        );
    }
}
