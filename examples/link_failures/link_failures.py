"""Follow link failures on a small network, and print who lost whom, and who came back."""

from pathlib import Path

import whence

HERE = Path(__file__).parent
EVENTS = (
    ("B-C fails", [("B", "C")], []),
    ("D-A fails", [("D", "A")], []),
    ("A-E and F-A come up", [], [("A", "E"), ("F", "A")]),
    ("C-E fails", [("C", "E")], []),
)


def pairs(table):
    """Return `A: B C` for each node of a change."""
    others = {}
    for row in table.to_pylist():
        others.setdefault(row["from"], []).append(row["to"])
    return [f"{node}: {' '.join(sorted(others[node]))}" for node in sorted(others)]


def tell(change):
    """Print the pairs that are cut off since the last commit, and those that are no more."""
    for line in pairs(change.inserted):
        print(f"  lost  {line}")
    for line in pairs(change.deleted):
        print(f"  back  {line}")


def main():
    db = whence.Database()
    db.load(HERE / "link_failures.dl", facts=HERE / "facts")
    db.subscribe("cut_off", tell)
    for what, failed, came_up in EVENTS:
        print(what)
        with db.transaction() as t:
            t.delete("wire", failed)
            t.insert("wire", came_up)
        if "cut_off" not in t.changes:
            print("  nobody is cut off by it")


if __name__ == "__main__":
    main()
