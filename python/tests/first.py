"""Ask the banks of the demonstration, whose folder is the argument, with nothing installed but Cenote."""

import csv
import sys
from decimal import Decimal
from pathlib import Path

import cenote

folder = Path(sys.argv[1])
columns = {"id": "char(14) not null", "owed": "decimal(12,2) not null"}

answer = cenote.query(
    "SELECT a.id, a.owed + b.owed AS joint FROM a JOIN b USING (id) WHERE a.owed + b.owed > 1000000",
    protocol="three",
    a=cenote.table(folder / "bank-0.csv", party=0, columns=columns, unique="id"),
    b=cenote.table(folder / "bank-1.csv", party=1, columns=columns, unique="id"),
)

banks = []
for party in (0, 1):
    with (folder / f"bank-{party}.csv").open(newline="") as file:
        banks.append({row["id"]: Decimal(row["owed"]) for row in csv.DictReader(file)})
joint = {name: banks[0][name] + banks[1][name] for name in banks[0].keys() & banks[1].keys()}
expected = {name: owed for name, owed in joint.items() if owed > 1_000_000}
assert expected
assert dict(answer) == expected, "the answer differs from what the files say"
print(answer)
