"""Rules that derive no tuple twice, so that nobody need check for duplicates.

In `p(w, x, y) :- q(w, x), e(x, y)` the head tells which tuples of `q` and `e` it comes from. If no
other rule and no fact makes tuples of `p`, they are all different. Of a relation that keeps the
best value per key, the key is enough to tell the tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whence.syntax.nodes import Atom, Constant, Rule, Variable, variables


def derives_distinct(rule: Rule, keys: Mapping[str, Sequence[int]]) -> bool:
    """Say whether different instances of the rule have different heads, on its key if it has one.

    `keys` are the columns that tell the tuples of a relation apart, where not all are needed.
    """
    head = rule.head
    columns = keys.get(head.relation, range(len(head.args)))
    told = {a.name for c in columns if isinstance(a := head.args[c], Variable)}
    for literal in rule.body:
        if isinstance(literal, Atom):
            for column in keys.get(literal.relation, range(len(literal.args))):
                match literal.args[column]:
                    case Variable(name=name) if name in told:
                        pass
                    case Constant():
                        pass
                    case _:
                        return False
    return bool(variables(*rule.body))
