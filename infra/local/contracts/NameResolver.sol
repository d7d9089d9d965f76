// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A resolver of ENS on a local chain: addresses by coin type (ENSIP-9). With a URL it is an extended one (ENSIP-10),
/// whose answers are those of the gateway there (EIP-3668), for every name below its own.
contract NameResolver {
  error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

  mapping(bytes32 => mapping(uint256 => bytes)) private addresses;
  string public url;
  bool public again;

  function setAddr(bytes32 node, uint256 coinType, bytes calldata account) external {
    addresses[node][coinType] = account;
  }

  /// `asksAgain`: after each answer of the gateway it asks it the same.
  function setGateway(string calldata gateway, bool asksAgain) external {
    (url, again) = (gateway, asksAgain);
  }

  function supportsInterface(bytes4 id) external view returns (bool) {
    return id == 0x01ffc9a7 || (id == 0x9061b923 && bytes(url).length > 0);
  }

  function addr(bytes32 node) external view returns (address) {
    return address(bytes20(addresses[node][60]));
  }

  function addr(bytes32 node, uint256 coinType) external view returns (bytes memory) {
    return addresses[node][coinType];
  }

  function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory) {
    ask(abi.encode(name, data));
  }

  function proven(bytes calldata response, bytes calldata extra) external view returns (bytes memory) {
    if (again) ask(extra);
    return response;
  }

  function ask(bytes memory question) private view {
    string[] memory urls = new string[](1);
    urls[0] = url;
    revert OffchainLookup(address(this), urls, question, this.proven.selector, question);
  }
}
