"""What particles do to each other: sums over pairs, the one hot spot of every kernel method.

`kernels` and `bandwidth` say how near two particles are, `pairwise` prepares the distances, and
`stein_direction` and `diffusion` are the two kinds of direction made of them.
"""
