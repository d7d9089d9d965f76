"""Deployment: what the service keeps, what each function may do, how both get into an account, the local stack."""

APP = "payment-requests"
"""The name of the Chalice application; with the stage it begins the name of everything."""
