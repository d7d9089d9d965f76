"""What a wallet on Tron lacks of energy and bandwidth to pay a link, delegated to it by the service."""
