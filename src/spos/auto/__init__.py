"""Sampling without settings: the machinery finds its own scales, steps and end, and then judges."""
