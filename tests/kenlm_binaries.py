"""A writer of KenLM's binary files, independent of ours and as plain as can be, for tests of the reader.

Everything is built from a dict {words: (log10 probability, log10 back-off or None)} of a closed model: every
beginning and every end of an n-gram is an n-gram. Bits of tries are written into one large integer.
"""

import struct

MASK = (1 << 64) - 1
PROBING, REST, TRIE, QUANTISED, ARRAY, QUANTISED_ARRAY = range(6)


def murmur(data, m=0xC6A4A7935BD1E995):
    h = len(data) * m & MASK
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * m & MASK
        k = (k ^ k >> 47) * m & MASK
        h = (h ^ k) * m & MASK
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & MASK
    h = (h ^ h >> 47) * m & MASK
    return h ^ h >> 47


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def binary(ngrams, kind, *, words=True, bits=(6, 5), array_bits=4, unknown=-100.0):
    """Return the bytes of a file."""
    order = max(map(len, ngrams))
    names = [w for (w,) in (g for g in ngrams if len(g) == 1) if w != "<unk>"]
    if kind >= TRIE:
        names.sort(key=lambda w: murmur(w.encode()))
    number = {w: i for i, w in enumerate(["<unk>", *names])}
    grams = [{} for _ in range(order)]
    for gram, (p, b) in ngrams.items():
        grams[len(gram) - 1][tuple(number[w] for w in reversed(gram))] = (f32(p), f32(b or 0.0))
    had_unknown = (0,) in grams[0]
    grams[0].setdefault((0,), (unknown, 0.0))
    contexts = {g[1:] for level in grams for g in level}
    for level in grams:
        for g, (p, b) in level.items():
            level[g] = (p, b if b else 0.0 if g in contexts or (g == (0,) and not had_unknown) else -0.0)
    counts = [len(level) for level in grams]
    if kind < TRIE and not had_unknown:
        counts[0] -= 1
    fixed = struct.pack("<BxxxfI?xxxI", order, 1.5, kind, words, 0 if kind < TRIE else 1)
    head = b"mmap lm http://kheafield.com/code format version 5\n".ljust(56, b"\0")
    head += struct.pack("<fffIIIQ", 0, 1, -0.5, 1, 2**32 - 1, 0, 1) + fixed + struct.pack(f"<{order}Q", *counts)
    head = head.ljust((len(head) + 7) // 8 * 8, b"\0")
    body = _probing(grams, counts, names, kind) if kind < TRIE else b""
    if kind >= TRIE:
        body = _trie(grams, counts, names, kind, bits, array_bits, len(head))
    return head + body + (b"".join(w.encode() + b"\0" for w in ["<unk>", *names]) if words else b"")


def _table(items, count, size):
    slots = max(count + 1, int(1.5 * count))
    table = [bytes(8 + size)] * slots
    for key, value in items:
        at = key % slots
        while table[at][:8] != bytes(8):
            at = (at + 1) % slots
        table[at] = struct.pack("<Q", key) + value
    return b"".join(table)


def _probing(grams, counts, names, kind):
    longer = {g[:-1] for level in grams[1:] for g in level}  # those that extend to the left

    def value(g, p, b):
        bits = bits32(p) & 0x7FFFFFFF | (0 if g in longer else 1 << 31)
        return struct.pack("<If", bits, b) + (struct.pack("<f", p) if kind == REST else b"")

    def key(g):
        h = g[0]
        for w in g[1:]:
            h = h * 8978948897894561157 & MASK ^ (1 + w) * 17894857484156487943 & MASK
        return h

    vocabulary = ((murmur(w.encode()), struct.pack("<I", i)) for i, w in enumerate(names, 1))
    out = struct.pack("<II", 0, len(names) + 1) + _table(vocabulary, counts[0], 4)
    unigrams = b"".join(value(g, *grams[0][g]) for g in sorted(grams[0]))
    size = 12 if kind == REST else 8
    out += unigrams.ljust((counts[0] + 1) * size, b"\0")
    for n in range(2, len(grams)):
        out += _table(((key(g), value(g, *v)) for g, v in grams[n - 1].items()), counts[n - 1], size)
    return out + _table(((key(g), struct.pack("<f", v[0])) for g, v in grams[-1].items()), counts[-1], 4)


class _Bits:
    def __init__(self):
        self.value = self.size = 0

    def put(self, value, size):
        assert 0 <= value < 1 << size or size == 0
        self.value |= value << self.size
        self.size += size


def _centres(values, n):
    """At most n values in order, each one of those given; the rest of the table repeats the last."""
    values = sorted(set(values)) or [0.0]
    chosen = [values[i * len(values) // n] for i in range(n)] if len(values) > n else values
    return chosen + [chosen[-1]] * (n - len(chosen))


def _trie(grams, counts, names, kind, bits, array_bits, begin):
    order, quantised, array = len(grams), kind in (QUANTISED, QUANTISED_ARRAY), kind >= ARRAY
    levels = [sorted(level) for level in grams]
    hashes = [murmur(w.encode()) for w in names]
    out = struct.pack(f"<Q{len(hashes)}Q", len(hashes), *hashes).ljust(8 + 8 * counts[0], b"\0")
    tables = []
    if quantised:
        out += bytes([2, *bits]).ljust(8, b"\0")
        for n in range(2, order + 1):
            p_table = _centres([v[0] for v in grams[n - 1].values()], 1 << bits[0])
            nonzero = [v[1] for v in grams[n - 1].values() if v[1] != 0]
            b_table = [-0.0, 0.0, *_centres(nonzero, (1 << bits[1]) - 2)]
            tables.append((p_table, b_table))
            out += struct.pack(f"<{len(p_table)}f", *p_table)
            if n < order:
                out += struct.pack(f"<{len(b_table)}f", *b_table)

    def first_children(n):  # of the n-grams of order n and the end
        parents = [g[:-1] for g in levels[n]]
        return [sum(p < g for p in parents) for g in levels[n - 1]] + [counts[n]]

    firsts = first_children(1)
    for g, first in zip(levels[0], firsts):
        out += struct.pack("<ffQ", *grams[0][g], first)
    out += struct.pack("<ffQ", 0, 0, firsts[-1]) + bytes(16)
    word_bits = counts[0].bit_length()
    for n in range(2, order + 1):
        last = n == order
        next_bits = moved = 0
        if not last:
            needed = counts[n].bit_length()
            costs = [(counts[n] >> needed - m if m else 0) * 64 - (counts[n - 1] + 1) * m
                     for m in range(min(needed, array_bits) + 1)]  # fmt: skip
            moved = costs.index(min(costs)) if array else 0
            next_bits = needed - moved
        packed, next_ = _Bits(), [0] * (counts[n - 1] + 1) if last else first_children(n)
        for g, child in zip(levels[n - 1], next_):
            p, b = grams[n - 1][g]
            packed.put(g[-1], word_bits)
            if quantised:
                p_table, b_table = tables[n - 2]
                if not last:
                    sign = bits32(b) >> 31
                    nearest = min(range(2, len(b_table)), key=lambda i: abs(b_table[i] - b))
                    packed.put((0 if sign else 1) if b == 0 else nearest, bits[1])
                packed.put(min(range(len(p_table)), key=lambda i: abs(p_table[i] - p)), bits[0])
            else:
                packed.put(bits32(p) & 0x7FFFFFFF, 31)
                if not last:
                    packed.put(bits32(b), 32)
            packed.put(child & (1 << next_bits) - 1, next_bits)
        record = packed.size // max(counts[n - 1], 1)
        if not last:
            packed.size = record * counts[n - 1] + record - next_bits
            packed.put(next_[-1] & (1 << next_bits) - 1, next_bits)
        if array and not last:
            n_changes = (counts[n] >> next_bits if moved else 0) + 1
            changes = [next(i for i, c in enumerate(next_) if c >> next_bits >= k) for k in range(n_changes)]
            at = begin + len(out)
            table = struct.pack(f"<8x{n_changes}Q", *changes)
            table = bytes((-at) % 8) + table
            table = bytes([0, array_bits]) + table[2:]
            out += table.ljust(8 * (1 + n_changes) + 7, b"\0")
        total = word_bits + next_bits + (sum(bits) if quantised else 63)
        if last:
            total = word_bits + (bits[0] if quantised else 31)
        out += packed.value.to_bytes(((1 + counts[n - 1]) * total + 7) // 8 + 8, "little")
    return out
