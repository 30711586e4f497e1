"""Built-in functors, comparisons and aggregates as tables of scalar and array forms."""

from whence.functor.aggregate import AGGREGATES, AggregateFunction
from whence.functor.comparison import COMPARISONS, NEGATED, Comparison
from whence.functor.table import FUNCTORS, Functor, overloads
from whence.functor.user import UserFunctor, UserFunctors
from whence.functor.values import (
    DTYPES,
    FunctorFault,
    canonical_float,
    canonical_floats,
    wrap_number,
    wrap_unsigned,
)

__all__ = [
    "FUNCTORS",
    "Functor",
    "overloads",
    "COMPARISONS",
    "Comparison",
    "NEGATED",
    "AGGREGATES",
    "AggregateFunction",
    "UserFunctor",
    "UserFunctors",
    "FunctorFault",
    "DTYPES",
    "canonical_float",
    "canonical_floats",
    "wrap_number",
    "wrap_unsigned",
]
