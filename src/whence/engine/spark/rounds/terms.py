"""Terms and constraints as Spark's columns: its own expressions where they give the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from whence.engine.spark.rounds import embedded
from whence.engine.spark.rounds.cells import (
    SIGN,
    UNIT,
    Cell,
    Types,
    canonical,
    cell_of,
    literal,
    zero,
)
from whence.functor.user import UserFunctors
from whence.syntax.nodes import (
    Call,
    Cast,
    Constant,
    Constraint,
    Kind,
    Nil,
    Term,
    Variable,
    variables,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that has a value: the column that holds it."""

    column: str
    cell: Cell


Bindings = Mapping[str, Bound]


@dataclass(frozen=True, slots=True)
class Terms:
    """What compiling a term needs besides the term."""

    types: Types
    user: UserFunctors

    def value(self, term: Term, bound: Bindings) -> Column:
        """Return the column of the term's values."""
        from pyspark.sql import functions as F

        found = _native(term, bound)
        if found is not None:
            return found
        names = {name: bound[name].cell for name in variables(term)}
        result = self.cell(term, bound)
        computation = embedded.of_term(term, names, result, self.types, self.user)
        called = embedded.column_function(computation)(*_arguments(names, bound))
        return F.coalesce(called, zero(result.kind))

    def holds(self, test: Constraint, bound: Bindings) -> Column:
        """Return the column that says where the constraint holds."""
        left, right = _native(test.left, bound), _native(test.right, bound)
        if left is not None and right is not None:
            kind = test.kind or self.cell(test.left, bound).kind
            compare = _COMPARISONS.get((test.op, kind)) or _COMPARISONS.get((test.op, None))
            if compare is not None:
                return compare(left, right)
        names = {name: bound[name].cell for name in variables(test)}
        computation = embedded.of_test(test, names, self.types, self.user)
        return embedded.column_function(computation)(*_arguments(names, bound))

    def cell(self, term: Term, bound: Bindings) -> Cell:
        """Return how the term's values are to be read."""
        return cell_of(term, {name: b.cell for name, b in bound.items()}, self.types)


def _arguments(names: Mapping[str, Cell], bound: Bindings) -> list[Column]:
    from pyspark.sql import functions as F

    # A function of no columns would not know how many values to give.
    return [F.col(bound[n].column) for n in names] or [F.lit(0).cast("bigint").alias(UNIT)]


# ── terms ──


def _native(term: Term, bound: Bindings) -> Column | None:
    """Return the term as an expression of Spark's, None where it has none that is exact."""
    from pyspark.sql import functions as F

    match term:
        case Variable(name=name):
            return F.col(bound[name].column)
        case Constant() | Nil():
            return literal(term)
        case Cast(term=inner, type=type_):
            same = {"number", "unsigned"}
            if isinstance(inner, Variable) and (
                bound[inner.name].cell.type == type_ or {bound[inner.name].cell.type, type_} <= same
            ):
                return F.col(bound[inner.name].column)
            return None
        case Call(functor=functor, kind=kind, args=args):
            make = _CALLS.get((functor, kind))
            if make is None:
                return None
            found = [_native(a, bound) for a in args]
            given = [column for column in found if column is not None]
            return make(*given) if len(given) == len(found) else None
        case _:
            return None


def added(a: Column, b: Column) -> Column:
    """Return a + b, wrapped round at 64 bits, whether or not Spark's sums may overflow."""
    from pyspark.sql import functions as F

    # Where the sum is too large, both have one sign; turning both signs changes it by 2 ** 64.
    turned = F.try_add(_turned(a), _turned(b))
    return F.coalesce(F.try_add(a, b), turned, F.lit(0).cast("bigint"))


def _subtracted(a: Column, b: Column) -> Column:
    from pyspark.sql import functions as F

    # Where the difference is too large, the signs differ; see `added`.
    turned = _turned(F.try_subtract(_turned(a), b))
    return F.coalesce(F.try_subtract(a, b), turned, F.lit(0).cast("bigint"))


def _multiplied(a: Column, b: Column) -> Column:
    """Return a * b, wrapped round: by halves of 32 bits, whose products Spark can hold."""
    from pyspark.sql import functions as F

    low = F.lit((1 << 32) - 1)
    a0, a1 = a.bitwiseAND(low), F.shiftrightunsigned(a, 32)
    b0, b1 = b.bitwiseAND(low), F.shiftrightunsigned(b, 32)
    # (a1 b0 + a0 b1) 2^32 + a0 b0, modulo 2^64; each product of halves is below 2^64.
    cross = added(_halves(a1, b0), _halves(a0, b1))
    wrapped = added(F.shiftleft(cross, 32), _halves(a0, b0))
    return F.coalesce(F.try_multiply(a, b), wrapped)


def _halves(a: Column, b: Column) -> Column:
    """Return the product of two numbers below 2 ** 32, modulo 2 ** 64."""
    from pyspark.sql import functions as F

    # b = b1 2^16 + b0: both products are below 2^48.
    low = a * b.bitwiseAND(F.lit(0xFFFF))
    high = a * F.shiftrightunsigned(b, 16)
    return added(F.shiftleft(high, 16), low)


def _turned(a: Column) -> Column:
    """Return the number with its sign bit turned, which also orders unsigned ones as numbers."""
    from pyspark.sql import functions as F

    return a.bitwiseXOR(F.lit(SIGN))


def _least(*args: Column) -> Column:
    """Return the first of the least; a NaN is less than nothing, as with the embedded functor."""
    from pyspark.sql import functions as F

    out = args[0]
    for other in args[1:]:
        out = F.when(_less_float(other, out), other).otherwise(out)
    return out


def _greatest(*args: Column) -> Column:
    from pyspark.sql import functions as F

    out = args[0]
    for other in args[1:]:
        out = F.when(_less_float(out, other), other).otherwise(out)
    return out


def _less_float(a: Column, b: Column) -> Column:
    from pyspark.sql import functions as F

    # To Spark a NaN is greater than every number; to the language it is neither.
    return (a < b) & ~F.isnan(b)


def _at_most_float(a: Column, b: Column) -> Column:
    from pyspark.sql import functions as F

    return (a <= b) & ~F.isnan(b)


def _folded(function: str) -> Callable[..., Column]:
    def fold(*args: Column) -> Column:
        from pyspark.sql import functions as F

        return args[0] if len(args) == 1 else getattr(F, function)(*args)

    return fold


def _concatenated(*args: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(*args)


def _length(text: Column) -> Column:
    from pyspark.sql import functions as F

    return F.octet_length(text).cast("bigint")


N, U, F_, S, R = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL, Kind.RECORD

_CALLS: Final[Mapping[tuple[str, Kind | None], Callable[..., Column]]] = {
    **{("+", k): added for k in (N, U)},
    **{("-", k): _subtracted for k in (N, U)},
    **{("*", k): _multiplied for k in (N, U)},
    **{("band", k): lambda a, b: a.bitwiseAND(b) for k in (N, U)},
    **{("bor", k): lambda a, b: a.bitwiseOR(b) for k in (N, U)},
    **{("bxor", k): lambda a, b: a.bitwiseXOR(b) for k in (N, U)},
    ("+", F_): lambda a, b: canonical(a + b),
    ("-", F_): lambda a, b: canonical(a - b),
    ("*", F_): lambda a, b: canonical(a * b),
    ("min", N): _folded("least"),
    ("max", N): _folded("greatest"),
    ("min", S): _folded("least"),
    ("max", S): _folded("greatest"),
    ("min", F_): _least,
    ("max", F_): _greatest,
    ("+", S): _concatenated,
    ("cat", S): _concatenated,
    ("strlen", S): _length,
    **{(name, k): lambda a: a for name, k in (("to_number", N), ("to_unsigned", U))},
    **{(name, k): lambda a: a for name, k in (("to_float", F_), ("to_string", S))},
    **{(name, k): lambda a: a for name, k in (("to_number", U), ("to_unsigned", N))},
    **{(name, k): lambda a: a for name, k in (("itou", N), ("utoi", U), ("ord", N), ("ord", U))},
    ("to_float", N): lambda a: a.cast("double"),
    ("itof", N): lambda a: a.cast("double"),
    ("to_string", N): lambda a: a.cast("string"),
}

# ── constraints ──

_COMPARISONS: Final[Mapping[tuple[str, Kind | None], Callable[[Column, Column], Column]]] = {
    ("=", None): lambda a, b: a == b,
    ("!=", None): lambda a, b: a != b,
    **{("<", k): lambda a, b: a < b for k in (N, S)},
    **{("<=", k): lambda a, b: a <= b for k in (N, S)},
    **{(">", k): lambda a, b: a > b for k in (N, S)},
    **{(">=", k): lambda a, b: a >= b for k in (N, S)},
    ("<", U): lambda a, b: _turned(a) < _turned(b),
    ("<=", U): lambda a, b: _turned(a) <= _turned(b),
    (">", U): lambda a, b: _turned(a) > _turned(b),
    (">=", U): lambda a, b: _turned(a) >= _turned(b),
    ("<", F_): _less_float,
    ("<=", F_): _at_most_float,
    (">", F_): lambda a, b: _less_float(b, a),
    (">=", F_): lambda a, b: _at_most_float(b, a),
    ("contains", S): lambda part, text: text.contains(part),
    ("not_contains", S): lambda part, text: ~text.contains(part),
}


def in_order(column: Column, kind: Kind) -> Column:
    """Return a column that Spark orders as the values are; and back, when applied twice."""
    return _turned(column) if kind is Kind.UNSIGNED else column
