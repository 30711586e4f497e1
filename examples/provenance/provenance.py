"""Why answers hold, why others do not, and what a change would do, in Python."""

from itertools import islice
from pathlib import Path

import whence

HERE = Path(__file__).parent

db = whence.Database(semiring="tropical")
db.load((HERE / "provenance.dl").read_text(), facts=HERE / "facts")

print("The cheapest way, and what it rests on:")
print(db.why('reach("laptop", "database")'))

print("\nWhat is enough for it:")
for witness in islice(db.witnesses('reach("laptop", "database")'), 5):
    print(" and ".join(map(str, witness)))

print("\nWhat the loss of one link would do:")
changes = db.what_if(delete='wire("wifi", "backup")')
for row in sorted(changes["reach"].deleted.to_pylist(), key=str):
    print("no more", *row.values())
for row in sorted(changes["reach"].inserted.to_pylist(), key=str):
    print("instead", *row.values())

print("\nWhat is missing:")
print(db.why_not('reach("core", "printer")', depth=1, nearest=1))
