"""How many bytes a compiled program sends, read from the program itself and not guessed.

The text of a compiled program has every collective operation with the shape of what it moves, and
how often a loop runs. A device sends as many bytes as it gets by a `collective-permute`, and in a
ring twice (P - 1)/P of what an `all-reduce` sums, which is counted as the whole.
"""

import math
import re

_SENT = re.compile(r"= (.+?) (?:collective-permute|all-reduce|all-gather|all-to-all)(?:-start)?\(")
_ARRAY = re.compile(r"\b([a-z]+)([0-9]+)\[([0-9,]*)\]")
_CALLED = re.compile(r"(?:body|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TURNS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")


def bytes_sent(text: str) -> int:
    """By one device, in one run of a program.

    Args:
        text: of a compiled program: `jax.jit(f).lower(…).compile().as_text()`. A loop whose number
            of turns is not in it counts once.

    Returns:
        The number of bytes.
    """
    bodies, entry, name = dict[str, list[str]](), "", ""
    for line in text.splitlines():
        if (head := _HEAD.match(line)) and " = " not in line:
            name = head.group(2)
            bodies[name] = []
            entry = name if head.group(1) else entry
        elif name:
            bodies[name].append(line)

    def total(body: str) -> int:
        found = 0
        for line in bodies.get(body, ()):
            if sent := _SENT.search(line):
                found += sum(_size(*array) for array in _ARRAY.findall(sent.group(1)))
                continue
            turns = _TURNS.search(line)
            called = _CALLED.findall(line)
            branches = _BRANCHES.search(line)
            if branches:
                called += [each.strip().lstrip("%") for each in branches.group(1).split(",")]
            inside = sum(total(each) for each in called)
            found += inside * (int(turns.group(1)) if turns else 1)
        return found

    return total(entry)


def _size(kind: str, bits: str, shape: str) -> int:
    return math.prod(int(n) for n in shape.split(",") if n) * int(bits) // 8
