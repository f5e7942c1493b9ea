"""Benchmark data: named tables with their train and test rows.

Nothing is bundled and nothing is downloaded unasked. A table comes from a folder of the user, from
the cache that `spos data fetch` fills, or from scikit-learn's small sets.
"""

from spos_experiments.data.catalogue import NAMES, DataError
from spos_experiments.data.tables import Table, load

__all__ = ["NAMES", "DataError", "Table", "load"]
