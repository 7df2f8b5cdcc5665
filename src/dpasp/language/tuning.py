"""The limits and tolerances of reading."""

from __future__ import annotations

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Each number with its unit and its reason."""

    term_depth: int = 200  # nested operators and brackets: clingo's parser overflows the stack
    expression_depth: int = 100  # nested operations in a probability: Python recurses
    include_depth: int = 100  # files that include one another: Python recurses
    pool_statements: int = 100_000  # statements that pools may stand for: clingo makes all of them
    near_error: int = 1_000  # characters searched before and after an error: a search may take n²
    masked_token: int = 200  # characters of a token; longer ones are not searched, as above
    integer_digits: int = 18  # of an option's value: 64 bits hold them; longer ones are floats
    exact_bits: int = 20_000  # of a fraction, which may grow without end; then it is a float
    sum_slack: float = 1e-9  # by which the sum of probabilities may exceed 1
    rounding: float = 4 * 2.0**-52  # by which an expression of floats may leave [0, 1]
    float_rest: float = 1e-3  # a rest up to 1; above this, subtracting floats loses no digits


TUNING = Tuning()
