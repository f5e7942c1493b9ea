"""What the SPOS paper prints for these data sets: root mean square error, then log-likelihood."""

SETS = (
    *("boston", "concrete", "energy", "kin8nm", "naval"),
    *("power", "wine_red", "yacht", "protein", "year"),
)
METHODS = ("sgld", "svgd", "spos")

_RMSE = """
    3.114 2.961 2.829
    5.508 5.157 5.071
    0.842 1.291 0.752
    0.080 0.090 0.079
    0.004 0.004 0.004
    4.059 4.127 3.939
    0.632 0.604 0.598
    1.183 1.597 0.840
    4.281 4.392 4.254
    8.707 8.684 8.681
"""
_LL = """
    -2.633 -2.591 -2.532
    -3.133 -3.247 -3.062
    -1.268 -1.534 -1.158
     1.080  0.986  1.092
     4.127  4.032  4.145
    -2.823 -2.843 -2.794
    -0.962 -0.926 -0.911
    -1.680 -1.818 -1.446
    -2.877 -2.905 -2.876
    -3.582 -3.580 -3.576
"""


def _table(text: str) -> dict[tuple[str, str], float]:
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        (name, method): float(value)
        for name, row in zip(SETS, rows, strict=True)
        for method, value in zip(METHODS, row, strict=True)
    }


RMSE, LL = _table(_RMSE), _table(_LL)
