"""What data sets there are, and what is known about each."""

from typing import NamedTuple


class DataError(OSError):
    """A data set that cannot be used; the message says which, why, and what to do."""


class Entry(NamedTuple):
    """`rows` and `columns` of the features; how many random 90/10 splits, or 1 for a given one.

    `sha256` is that of the file whose random splits are the published ones. `openml` numbers the
    same set there, whose rows may be in another order. `mean` is that of the target, `other` a
    part of the name of a second target, which must not become a feature. `constant` features never
    change, and may be missing elsewhere.
    """

    title: str
    rows: int
    columns: int
    num_splits: int
    sha256: str | None = None
    openml: int | None = None
    mean: float | None = None
    other: str | None = None
    constant: int = 0


UCI = {
    "boston": Entry(
        *("Boston housing", 506, 13, 20),
        sha256="d22264b86b3338b16d9499271a1a4029ff1e1b7bcf1a9d0d58e4c77c02acdb52",
        openml=531,
        mean=22.5328,
    ),
    "concrete": Entry(
        *("concrete compressive strength", 1030, 8, 20),
        sha256="79c44b631657ef8061f9b53b209830ef26033c9e36d162e12191c3f10d4210e1",
        openml=44959,
        mean=35.8180,
    ),
    "energy": Entry(
        *("energy efficiency, heating load", 768, 8, 20),
        sha256="6731b1948faea0027cc46ddad68b9f61fd398334d6981534334c2d7504f12d81",
        openml=44960,
        mean=22.3072,
        other="cooling",
    ),
    "kin8nm": Entry(
        *("forward kinematics of a robot arm", 8192, 8, 20),
        sha256="a90d7eff3a76fa958e51262fd45728240747dd05c4ec00e5a7baaec41bbfd528",
        openml=189,
        mean=0.7143,
    ),
    "naval": Entry(
        *("naval propulsion plant, compressor decay", 11934, 16, 20),
        sha256="71a860a9803011be0879f5988a95ef1568823883b31e6ec2d0c9bb6d3beb6dc6",
        openml=44969,
        mean=0.9750,
        other="decay",
        constant=2,
    ),
    "power": Entry(
        *("combined cycle power plant", 9568, 4, 20),
        sha256="ee37fb059645a81742b4b77fb2c0e2b29b11f15cb04fac5c1e7795ed30806b51",
        mean=454.3650,
    ),
    "protein": Entry(
        *("protein tertiary structure", 45730, 9, 5),
        sha256="cdba8af6bdc29c837d598ddbd0084fdc8bd3357b43273f21116e9ef86f27de24",
        openml=44963,
        mean=7.7485,
    ),
    "wine_red": Entry(
        *("quality of red wine", 1599, 11, 20),
        sha256="386ad4f841c88bf8a1ceb3c5a912e83174ecf8ddd34f7f0c229d685424c572d6",
        openml=44972,
        mean=5.6360,
    ),
    "yacht": Entry(
        *("yacht hydrodynamics", 308, 6, 20),
        sha256="8b8e9e13076ef20e4cac44a5e5e9f5a1cd839cd98215200be74ca249e8573958",
        openml=42370,
        mean=10.4954,
    ),
}
YEAR = Entry("year of a song (YearPredictionMSD)", 515345, 90, 1, openml=44027)
MNIST = Entry(
    *("handwritten digits (MNIST)", 70000, 784, 1),
    sha256="06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
    openml=554,
)
FILES = {**UCI, "year": YEAR, "mnist": MNIST}
BUNDLED = {  # with scikit-learn
    "diabetes": Entry("progression of diabetes", 442, 10, 20),
    "digits": Entry("small handwritten digits", 1797, 64, 20),
}
NAMES = (*FILES, *BUNDLED)
TABLES = (*UCI, "year", "diabetes")  # with a number as target
