"""Payments and invoices that recur: when each period is due."""
