"""Pictures of runs: results, paths, forces, bandwidths and verdicts, in one look.

Matplotlib is only imported when something is drawn. `rich.py` is what notebooks show.
"""
