"""Bands of predictions from measured rows: the content of catalog/accuracy/collectives.yaml, and its coverage.

A row is seen as y = ln(measured / predicted). The band of a kind of machine (one GPU, or one way to join GPUs), one size
class and one or several nodes is the shortest that holds a certain share of the y of all rows of that size class, weighted
by how much their machine is like it (P2P off on a board of PCIe cards is another machine); all rows of a configuration weigh as much as those of any other. The share is the
least, one per size class, with which COVERED[...] of what is taken out, one board (or configuration) after another, is inside.
"""
import math

# By what is left out. One configuration in 30 moves it by 3 %: safely above 85 %, and no wider than needed. The rows that
# made a band are in it more often than those left out, so configurations need less.
COVERED = {"board": 0.88, "configuration": 0.86}
MOST = 0.97  # share of the rows in a band at most; beyond it is stretched
# Weights by (same GPU or same way to join GPUs, same of one and several nodes); chosen by width on boards left out.
LIKE = {
    "joined": {(True, True): 1.0, (True, False): 0.2, (False, True): 0.7, (False, False): 0.15},
    "gpu": {(True, True): 1.0, (True, False): 0.5, (False, True): 0.2, (False, False): 0.1},
}


class Seen:
    """A row with the properties that bands depend on."""

    def __init__(self, row):
        self.board, self.joined = row["node"], row["joined"]
        self.gpu = row["gpu"] + ("" if row["p2p"] else ", p2p: false")  # as the key and its neighbour in the file
        self.several, self.configuration = row["several_nodes"], row["source_id"]
        self.y = math.log(row["measured"] / row["predicted"])


def rows_of_configurations(seen):
    out = {}
    for s in seen:
        out[s.configuration] = out.get(s.configuration, 0) + 1
    return out


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
    """Ends of the shortest interval, in percent of the prediction, with `share` of the weight."""
    values = sorted(values)
    total, end, held = sum(w for _, w in values), 0, 0.0
    best = None
    for low, weight in values:
        while end < len(values) and held < share * total * (1 - 1e-9):
            held += values[end][1]
            end += 1
        if held < share * total * (1 - 1e-9):
            break
        width = math.exp(values[end - 1][0]) - math.exp(low)
        if best is None or width < best[0]:
            best = (width, low, values[end - 1][0])
        held -= weight
    return best[1], best[2]


def band_of(seen, kind, value, several, share):
    """Ends in y; `kind`: "gpu" or "joined"; `share` above MOST stretches what holds MOST."""
    rows_of = rows_of_configurations(seen)
    values = [(s.y, LIKE[kind][getattr(s, kind) == value, s.several == several] / rows_of[s.configuration]) for s in seen]
    low, high = shortest(values, min(share, MOST))
    if share > MOST:
        middle = at_share(values, 0.5)
        low, high = middle - (middle - low) * share / MOST, middle + (high - middle) * share / MOST
    return low, high


OWN = 0.9  # share of the rows of a machine that its own band contains


def with_own_rows(seen, kind, value, several, ends):
    """`ends`, as far apart as it takes to contain OWN of the rows on the machine itself, each configuration alike."""
    own = [s for s in seen if getattr(s, kind) == value and s.several == several]
    rows_of = rows_of_configurations(own)
    values = [(s.y, 1 / rows_of[s.configuration]) for s in own]
    low, high = ends
    if sum(w for y, w in values if low <= y <= high) >= OWN * len(rows_of) * (1 - 1e-9):
        return low, high
    least, most = shortest(values, OWN)
    return min(low, least), max(high, most)


def bands_left_out(seen, kind, unit, share):
    """(row, low, high) of every row, by bands of all others; `unit`: "board" or "configuration"."""
    known = {}
    for s in seen:
        key = (getattr(s, unit), getattr(s, kind), s.several)
        if key not in known:
            others = [o for o in seen if getattr(o, unit) != getattr(s, unit)]
            known[key] = band_of(others, kind, key[1], s.several, share)
        yield s, *known[key]


def coverage(bands):
    """Of rows in their bands, each configuration counting once: share inside, median width, p90 of |error|; in %."""
    bands = list(bands)
    rows_of = rows_of_configurations(s for s, _, _ in bands)
    inside, widths, errors = 0.0, [], []
    for s, low, high in bands:
        weight = 1 / rows_of[s.configuration]
        inside += weight * (low <= s.y <= high)
        widths.append((math.exp(high) - math.exp(low), weight))
        errors.append((abs(math.exp(s.y) - 1), weight))
    return 100 * inside / len(rows_of), 100 * at_share(widths, 0.5), 100 * at_share(errors, 0.9)


def share_for(seen, kind, unit):
    """The least share with which COVERED of the rows left out are inside, to 0.01."""
    share = 0.5
    while share < 4 and coverage(bands_left_out(seen, kind, unit, share))[0] < 100 * COVERED[unit]:
        share += 0.01
    return share
