// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// Holds the tokens of one operator's payments. It is made as a clone: its code knows the escrow.
contract TokenStore {
    error OnlyAuthCaptureEscrow();

    address public immutable authCaptureEscrow;

    constructor(address escrow) {
        authCaptureEscrow = escrow;
    }

    function sendTokens(address token, address recipient, uint256 amount) external returns (bool) {
        if (msg.sender != authCaptureEscrow) revert OnlyAuthCaptureEscrow();
        SafeERC20.safeTransfer(IERC20(token), recipient, amount);
        return true;
    }
}
