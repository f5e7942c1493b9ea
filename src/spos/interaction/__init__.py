"""What particles do to each other: sums over pairs, the one hot spot of every kernel method.

`pairwise` prepares the distances and the bandwidth; `stein_direction` and `diffusion` are the two
kinds of direction made of them.
"""

from spos.interaction.diffusion import DIFFUSIONS, RIDGE, Diffusion, descent, kernel_root
from spos.interaction.pairwise import Interaction
from spos.interaction.stein_direction import stein

__all__ = ["DIFFUSIONS", "RIDGE", "Diffusion", "Interaction", "descent", "kernel_root", "stein"]
