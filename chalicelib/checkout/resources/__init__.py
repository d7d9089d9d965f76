"""What a payment on Tron takes of energy and bandwidth, and the TRX that are burned for what the wallet lacks."""
