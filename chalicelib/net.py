"""How we reach the network: nodes, third parties, and the addresses that merchants give us."""


