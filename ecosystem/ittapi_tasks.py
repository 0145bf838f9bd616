"""Nested tasks through Intel's Python package. Argument: how many of each."""

import sys

import ittapi


@ittapi.task("sum")
def work():
    return sum(range(20_000))


domain = ittapi.domain("example.python")
for _ in range(int(sys.argv[1])):
    with ittapi.task("outer", domain=domain), ittapi.task("inner", domain=domain):
        work()
