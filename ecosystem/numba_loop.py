"""A loop that Numba compiles when it runs. Argument: how far."""

import sys

import numba


@numba.njit
def longest_collatz(limit):
    longest = 0
    for start in range(1, limit):
        number, steps = start, 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        longest = max(longest, steps)
    return longest


print(longest_collatz(int(sys.argv[1])))
