// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IExtendedResolver {
  function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory);
}

/// Stands where the universal resolver of ENS is on mainnet, with the resolvers of all names in its own storage: walks up
/// a name to the next parent with a resolver (ENSIP-10), asks it, and puts questions to gateways in a batch (ENSIP-21).
contract UniversalResolver {
  struct Query {
    address sender;
    string[] urls;
    bytes data;
  }

  error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
  error ResolverNotFound(bytes name);
  error ResolverError(bytes errorData);
  error UnsupportedResolverProfile(bytes4 selector);

  bytes4 private constant LOOKUP = 0x556f1830;
  bytes4 private constant EXTENDED = 0x9061b923;
  mapping(bytes32 => address) public resolvers;
  mapping(bytes32 => string) public primaryNames;

  function setResolver(bytes32 node, address resolver) external {
    resolvers[node] = resolver;
  }

  function setPrimaryName(bytes calldata account, uint256 coinType, string calldata name) external {
    primaryNames[keccak256(abi.encode(account, coinType))] = name;
  }

  function findResolver(bytes memory name) public view returns (address resolver, uint256 at) {
    while (true) {
      resolver = resolvers[nodeOf(name, at)];
      if (resolver != address(0) || name[at] == 0) return (resolver, at);
      at += 1 + uint8(name[at]);
    }
  }

  function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory, address) {
    (address resolver, uint256 at) = findResolver(name);
    if (resolver == address(0)) revert ResolverNotFound(name);
    bool extended = isExtended(resolver);
    if (!extended && at != 0) revert ResolverNotFound(name);
    bytes memory asked = extended ? abi.encodeWithSelector(EXTENDED, name, data) : data;
    (bool ok, bytes memory out) = resolver.staticcall(asked);
    if (!ok && bytes4(out) == LOOKUP) ask(resolver, out);
    if (!ok) revert ResolverError(out);
    if (!extended && out.length == 0) revert UnsupportedResolverProfile(bytes4(data));
    return (extended ? abi.decode(out, (bytes)) : out, resolver);
  }

  function reverse(bytes calldata account, uint256 coinType) external view returns (string memory, address, address) {
    return (primaryNames[keccak256(abi.encode(account, coinType))], address(this), address(this));
  }

  /// The callback: continues with the resolver's own one.
  function answered(bytes calldata response, bytes calldata extra) external view returns (bytes memory, address) {
    (address resolver, bytes4 callback, bytes memory own) = abi.decode(extra, (address, bytes4, bytes));
    (bool[] memory failed, bytes[] memory responses) = abi.decode(response, (bool[], bytes[]));
    if (failed[0]) revert ResolverError(responses[0]);
    (bool ok, bytes memory out) = resolver.staticcall(abi.encodeWithSelector(callback, responses[0], own));
    if (!ok && bytes4(out) == LOOKUP) ask(resolver, out);
    if (!ok) revert ResolverError(out);
    return (abi.decode(out, (bytes)), resolver);
  }

  function ask(address resolver, bytes memory lookup) private view {
    bytes memory body = new bytes(lookup.length - 4);
    for (uint256 i; i < body.length; i++) body[i] = lookup[i + 4];
    (address sender, string[] memory urls, bytes memory data, bytes4 callback, bytes memory own) = abi.decode(
      body,
      (address, string[], bytes, bytes4, bytes)
    );
    Query[] memory queries = new Query[](1);
    queries[0] = Query(sender, urls, data);
    string[] memory here = new string[](1);
    here[0] = "x-batch-gateway:true";
    bytes memory query = abi.encodeWithSelector(0xa780bab6, queries);
    revert OffchainLookup(address(this), here, query, this.answered.selector, abi.encode(resolver, callback, own));
  }

  function isExtended(address resolver) private view returns (bool) {
    (bool ok, bytes memory out) = resolver.staticcall{gas: 30000}(abi.encodeWithSelector(0x01ffc9a7, EXTENDED));
    return ok && out.length == 32 && abi.decode(out, (uint256)) == 1;
  }

  function nodeOf(bytes memory name, uint256 at) private pure returns (bytes32) {
    uint8 length = uint8(name[at]);
    if (length == 0) return 0;
    bytes memory label = new bytes(length);
    for (uint256 i; i < length; i++) label[i] = name[at + 1 + i];
    return keccak256(abi.encodePacked(nodeOf(name, at + 1 + length), keccak256(label)));
  }
}
