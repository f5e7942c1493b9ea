"""Sampling without settings where the data are tall: minibatches, and a step that is found."""
