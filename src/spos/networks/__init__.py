"""Bayesian networks in practice: how they are trained, and what they predict.

The scikit-learn estimators and the paper's tables train with the same `trainer.train`. Nothing here
needs scikit-learn.
"""
