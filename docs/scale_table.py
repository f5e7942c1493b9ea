"""The table of docs/scale.md: what a thousand hosts give, by the model `spos.theory.cost`.

python docs/scale_table.py
"""

from spos import theory

HOSTS = {"num_devices": 1000, "bytes_per_second": 12.5e9, "flops": 1e12, "latency": 2e-5}
NETWORK = 784 * 400 + 400 + 400 * 400 + 400 + 400 * 10 + 10
CASES = [
    # particles, numbers of a particle, group, operations of a score
    (10_000, 1_000, None, None),
    (1_000_000, 20, None, None),
    (1_000_000, 1_000, None, None),
    (100_000_000, 20, None, None),
    (100_000_000, 20, 100, None),
    (1_000, NETWORK, None, 6.0 * 100 * NETWORK),
    (100_000, NETWORK, None, 6.0 * 100 * NETWORK),
    (100_000, NETWORK, 100, 6.0 * 100 * NETWORK),
]


def lines():
    """The rows of the table in Markdown."""
    yield "| particles | numbers each | group | pairs, s | scores, s | ring, s | MB sent | hidden |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---|"
    for count, size, group, score in CASES:
        there = theory.cost(count, size, group_size=group, score_flops=score, **HOSTS)
        yield (
            f"| {count:,} | {size:,} | {group or 'all'} | {there.pairs:.2g} | {there.own:.2g} "
            f"| {there.ring + there.latency:.2g} | {there.bytes_sent / 1e6:,.0f} "
            f"| {'yes' if there.hidden else 'no'} |"
        )


if __name__ == "__main__":
    print("\n".join(lines()))
