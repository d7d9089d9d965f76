"""Checks of the CloudFormation templates."""
