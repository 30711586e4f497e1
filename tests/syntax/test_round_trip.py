"""What is printed or laid out anew still means the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syntax.programs import programs, terms
from whence.diagnostics import Source
from whence.syntax.format import format_source
from whence.syntax.nodes import Atom, Program, Rule, variables
from whence.syntax.printer import print_program, print_term
from whence.syntax.scanner import scan
from whence.syntax.souffle import parse

quick = settings(
    max_examples=70,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@quick
@given(program=programs())
def test_a_printed_program_parses_to_itself(program):
    assert parse(print_program(program)) == program


@quick
@given(term=terms())
def test_a_printed_term_parses_to_itself(term):
    parsed = parse(f"a({print_term(term)}).")
    assert parsed == Program(rules=(Rule((Atom("a", (term,)),)),))


@quick
@given(term=terms())
def test_no_pair_of_parentheses_can_be_left_out(term):
    text = print_term(term)
    tokens = scan(Source("", text)).tokens
    opened = []
    for token in tokens:
        if token.type == "LPAREN":
            opened.append(token)
        elif token.type == "RPAREN":
            opening = opened.pop()
            before = tokens[opening.position - 1].type if opening.position else ""
            if before in ("IDENT", "FUNCTION", "MINMAX", "MATCH", "AS", "NOT"):
                continue
            left, right = opening.column - 1, token.column - 1
            without = f"{text[:left]} {text[left + 1 : right]} {text[right + 1 :]}"
            assert _parses_differently(f"a({without}).", term), without


def _parses_differently(text, term):
    from whence.diagnostics import ProgramError

    try:
        return parse(text).rules[0].head.args != (term,)
    except ProgramError:
        return True


GAPS = [
    " ",
    "  ",
    "\n",
    "\n\n\n",
    " // c\n",
    "\n// own line\n",
    " /* in */ ",
    "\n/* two\nlines */\n",
]


@quick
@given(program=programs(), data=st.data())
def test_formatting_keeps_meaning_and_comments_and_is_stable(program, data):
    source = Source("", print_program(program))
    tokens = scan(source).tokens
    gaps = st.lists(st.sampled_from(GAPS), min_size=len(tokens), max_size=len(tokens))
    text = _joined(tokens, data.draw(gaps))
    formatted = format_source(text)
    assert parse(formatted) == parse(text)
    assert format_source(formatted) == formatted
    assert _comments(formatted) == _comments(text)


def _joined(tokens, gaps):
    return "".join(token.text + gap for token, gap in zip(tokens, gaps, strict=True))


def _comments(text):
    return Counter(comment.text.rstrip() for comment in scan(Source("", text)).comments)


@quick
@given(program=programs())
def test_every_node_knows_its_place(program):
    text = print_program(program)
    lines = text.split("\n")
    for rule in parse(text).rules:
        for name, node in variables(*rule.heads, *rule.body).items():
            line = lines[node.span.line - 1]
            assert line[node.span.column - 1 : node.span.end_column - 1] == name
