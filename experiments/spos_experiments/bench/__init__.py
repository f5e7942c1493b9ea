"""How fast, against whom, and how near to what the machine can do: `spos bench`."""

BENCHMARKS = (
    *("rows", "noise", "limits", "memory"),
    *("groups", "network", "control", "sources", "startup", "scaling"),
    *("scale", "devices"),
)
