"""Bands of predictions from measured rows: the content of catalog/accuracy, and how much such bands hold.

A row is seen as y = ln(measured / predicted), predicted without its source (or board) in the fits. The band of a kind of
machine, at one size, is the shortest that holds a certain share of the y of all rows of that size class, weighted by how much
they are like it. A source weighs as the root of its number of configurations; within a source all configurations weigh the
same, and within a configuration all rows. The share is the least, one per size class, with which COVERED[...] of what is taken out, one source (or board) after another, is
inside the band of all others.
"""
import math

# By what is left out. Aimed at 80 to 95 % of rows that nobody has seen; more makes bands below 1 MiB twice as wide.
COVERED = {"board": 0.88, "source": 0.84, "dense": 0.9}  # dense: steps, of many sources; with experts as sources
MOST = 0.97  # share of the rows in a band at most; beyond it is stretched
# Weight of a row that differs in a property; weights multiply. The launch mode counts below 1 MiB.
LIKE = {
    "board": {"joined": 0.7, "several": 0.2},
    "source": {"network": 0.05, "joined": 0.3, "launch": 0.3, "known_clocks": 0.3},
}
MODES = {"graph": "graph", "one-process-per-gpu": "process", "single-process-multi-gpu": "loop"}  # of --launch


class Seen:
    """A row with the properties that bands depend on."""

    def __init__(self, row, predicted):
        self.board, self.joined, self.source = row.get("node"), row.get("joined"), row["source"]
        self.gpu = row["gpu"] + ("" if row.get("p2p", True) else ", p2p: false")  # as the key and its neighbour in the file
        self.several, self.configuration = row["several_nodes"], row.get("source_id") or row["row_id"]
        self.known_clocks = "," not in (row.get("band_class") or "")
        self.launch = MODES.get(row.get("launch"), "unknown")
        self.network = "" if not self.several else "infiniband" if row["fabric"] == "ib" else "ethernet"
        self.y = math.log(row["measured"] / predicted)


def weighed(seen):
    """(row, its weight): a source weighs as the root of its number of configurations."""
    rows, configurations = {}, {}
    for s in seen:
        rows[s.source, s.configuration] = rows.get((s.source, s.configuration), 0) + 1
        configurations.setdefault(s.source, set()).add(s.configuration)
    return [(s, 1 / (rows[s.source, s.configuration] * math.sqrt(len(configurations[s.source])))) for s in seen]


def at_share(values, share):
    """The smallest value that `share` of the weight does not exceed; `values`: (value, weight)."""
    values = sorted(values)
    total, below = sum(w for _, w in values), 0.0
    for value, weight in values:
        below += weight
        if below >= share * total * (1 - 1e-9):
            return value
    return values[-1][0]


def shortest(values, share):
    """Ends of the interval with `share` of the weight whose ends are the least factor apart."""
    values = sorted(values)
    total, end, held = sum(w for _, w in values), 0, 0.0
    best = None
    for low, weight in values:
        while end < len(values) and held < share * total * (1 - 1e-9):
            held += values[end][1]
            end += 1
        if held < share * total * (1 - 1e-9):
            break
        width = values[end - 1][0] - low
        if best is None or width < best[0]:
            best = (width, low, values[end - 1][0])
        held -= weight
    return best[1], best[2]


def band_of(seen, unit, machine, share):
    """Ends in y. `machine`: (property, value) of the asked; `share` above MOST stretches what holds MOST."""
    values = []
    for s, weight in weighed(seen):
        for name, value in machine:
            if getattr(s, name) != value:
                weight *= LIKE[unit][name]
        values.append((s.y, weight))
    low, high = shortest(values, min(share, MOST))
    if share > MOST:
        middle = at_share(values, 0.5)
        low, high = middle - (middle - low) * share / MOST, middle + (high - middle) * share / MOST
    return low, high


def bands_left_out(seen, unit, properties, share):
    """(row, its weight, low, high) of every row, by bands of all others."""
    known = {}
    for s, weight in weighed(seen):
        machine = tuple((name, getattr(s, name)) for name in properties)
        key = (getattr(s, unit), machine)
        if key not in known:
            known[key] = band_of([o for o in seen if getattr(o, unit) != key[0]], unit, machine, share)
        yield s, weight, *known[key]


def coverage(bands):
    """Of rows and their bands: share inside, median width, p90 of |error|; in %."""
    bands = list(bands)
    inside = sum(w for s, w, low, high in bands if low <= s.y <= high) / sum(w for _, w, _, _ in bands)
    widths = [(math.exp(high) - math.exp(low), w) for _, w, low, high in bands]
    errors = [(abs(math.exp(s.y) - 1), w) for s, w, _, _ in bands]
    return 100 * inside, 100 * at_share(widths, 0.5), 100 * at_share(errors, 0.9)


def share_for(seen, unit, properties, covered):
    """The least share with which COVERED[covered] of the rows left out are inside, to 0.01."""
    share = 0.7
    while share < 4 and coverage(bands_left_out(seen, unit, properties, share))[0] < 100 * COVERED[covered]:
        share += 0.01
    return share
