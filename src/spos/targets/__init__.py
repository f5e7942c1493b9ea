"""Distributions to sample from."""
