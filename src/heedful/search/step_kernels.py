"""The kernels in Triton of a search's step: all but the products. `cuda_steps` calls them.

A program works on one slot, or on one of its rows, and reads nothing of any other: what a sentence gets does not depend
on its neighbours, nor on where it lies. Imported on CUDA alone, where Triton comes with PyTorch.

From Hopper on a kernel is launched while the one before still runs, and waits for its end in its first line, `_wait`,
before it reads anything: so less time goes by between two of them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait

from heedful.symbols import END as _END

END = tl.constexpr(_END)
_NONE = tl.constexpr(1 << 30)
"""More than any place."""
_HOPPER = all(torch.cuda.get_device_capability(i) >= (9, 0) for i in range(torch.cuda.device_count()))
_EARLY = tl.constexpr(_HOPPER and torch.version.hip is None)
LAUNCH = {"launch_pdl": _EARLY.value}
"""What every call of a kernel is given."""


@triton.jit
def _wait():
    if _EARLY:
        gdc_wait()


@triton.jit
def embedded(
    ids, length, embedding, positions, x, x_half, scale,
    W: tl.constexpr, SIZE: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """A row's last word and its position as one vector; if HALF, in half precision beside it."""
    _wait()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, PADDED)
    inside = column < SIZE
    word = tl.load(embedding + tl.load(ids + row) * SIZE + column, mask=inside, other=0.0).to(tl.float32)
    at = tl.load(positions + tl.load(length + row // W) * SIZE + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(x + row * SIZE + column, word * scale + at, mask=inside)
    if HALF:
        tl.store(x_half + row * SIZE + column, word * scale + at, mask=inside)


@triton.jit
def add_and_norm(
    x, s, weight, bias, y, y_half, epsilon,
    SIZE: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """y = LayerNorm(x + s); if HALF, in half precision beside it, for the next product."""
    _wait()
    column = tl.arange(0, PADDED)
    inside = column < SIZE
    place = tl.program_id(0).to(tl.int64) * SIZE + column
    z = tl.load(x + place, mask=inside, other=0.0) + tl.load(s + place, mask=inside, other=0.0).to(tl.float32)
    z = tl.where(inside, z - tl.sum(z, 0) / SIZE, 0.0)
    z *= tl.rsqrt(tl.sum(z * z, 0) / SIZE + epsilon)
    z = z * tl.load(weight + column, mask=inside, other=0.0) + tl.load(bias + column, mask=inside, other=0.0)
    tl.store(y + place, z, mask=inside)
    if HALF:
        tl.store(y_half + place, z, mask=inside)


@triton.jit
def attention_to_output(
    qkv, keys, values, rows, length, output, scale, positions, reach,
    HEADS: tl.constexpr, W: tl.constexpr, D_K: tl.constexpr, D_V: tl.constexpr,
    PADDED_K: tl.constexpr, PADDED_V: tl.constexpr, BEAMS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Some beams of a slot attend to their own words, by the table of rows and as far as the slot has come.

    Their new keys and values are put where they belong; since they are at hand, the sum begins with them.
    """
    _wait()
    slot, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    beams = tl.program_id(2) * BEAMS + tl.arange(0, BEAMS)
    there = beams < W
    of_k, of_v = tl.arange(0, PADDED_K), tl.arange(0, PADDED_V)
    in_k, in_v = there[:, None] & (of_k < D_K)[None, :], there[:, None] & (of_v < D_V)[None, :]
    last = tl.load(length + slot)
    new = qkv + (slot * W + beams)[:, None] * (HEADS * (2 * D_K + D_V)) + head * D_K + of_k[None, :]
    q = tl.load(new, mask=in_k, other=0.0).to(tl.float32) * scale
    k = tl.load(new + HEADS * D_K, mask=in_k, other=0.0)
    new_v = qkv + (slot * W + beams)[:, None] * (HEADS * (2 * D_K + D_V)) + HEADS * 2 * D_K + head * D_V
    v = tl.load(new_v + of_v[None, :], mask=in_v, other=0.0)
    begin = (slot * HEADS + head) * positions * W
    own = (begin + last * W + beams)[:, None]
    tl.store(keys + own * D_K + of_k[None, :], k, mask=in_k)
    tl.store(values + own * D_V + of_v[None, :], v, mask=in_v)
    largest = tl.sum(q * k.to(tl.float32), 1)
    total = tl.full([BEAMS], 1.0, tl.float32)
    sums = v.to(tl.float32)
    for start in range(tl.maximum(last - reach, 0), last, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        seen = there[:, None] & (column < last)[None, :]
        row = tl.load(rows + (slot * W + beams)[:, None] * positions + column[None, :], mask=seen, other=0)
        place = (begin + column[None, :] * W + row)[:, :, None]
        k_tile = tl.load(
            keys + place * D_K + of_k[None, None, :], mask=seen[:, :, None] & (of_k < D_K)[None, None, :], other=0.0
        ).to(tl.float32)
        v_tile = tl.load(
            values + place * D_V + of_v[None, None, :], mask=seen[:, :, None] & (of_v < D_V)[None, None, :], other=0.0
        ).to(tl.float32)
        scores = tl.where(seen, tl.sum(q[:, None, :] * k_tile, 2), float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        fade = tl.exp2(largest - larger)
        total = total * fade + tl.sum(weights, 1)
        sums = sums * fade[:, None] + tl.sum(weights[:, :, None] * v_tile, 1)
        largest = larger
    tl.store(
        output + ((slot * W + beams) * HEADS + head)[:, None] * D_V + of_v[None, :], sums / total[:, None], mask=in_v
    )


@triton.jit
def attention_to_source(
    q, keys, values, lengths, output, scale, q_row, k_slot, k_head, k_row, v_slot, v_head, v_row, queries,
    HEADS: tl.constexpr, D_K: tl.constexpr, D_V: tl.constexpr, PADDED_K: tl.constexpr, PADDED_V: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Some queries of a slot, its beams or the source's own positions, attend to its source, as far as that goes."""
    _wait()
    slot, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    number = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    there = number < queries
    of_k, of_v = tl.arange(0, PADDED_K), tl.arange(0, PADDED_V)
    row = (slot * queries + number)[:, None]
    in_k = there[:, None] & (of_k < D_K)[None, :]
    q_tile = tl.load(q + row * q_row + head * D_K + of_k[None, :], mask=in_k, other=0.0)
    keys += slot * k_slot + head * k_head
    values += slot * v_slot + head * v_head
    end = tl.load(lengths + slot)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, PADDED_V], tl.float32)
    for start in range(0, end, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        seen = column < end
        k_tile = tl.load(
            keys + column[None, :] * k_row + of_k[:, None], mask=seen[None, :] & (of_k < D_K)[:, None], other=0.0
        )
        v_tile = tl.load(
            values + column[:, None] * v_row + of_v[None, :], mask=seen[:, None] & (of_v < D_V)[None, :], other=0.0
        )
        scores = tl.dot(q_tile, k_tile, input_precision=PRECISION) * scale
        scores = tl.where(seen[None, :], scores, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        fade = tl.exp2(largest - larger)
        total = total * fade + tl.sum(weights, 1)
        sums = sums * fade[:, None] + tl.dot(weights.to(v_tile.dtype), v_tile, input_precision=PRECISION)
        largest = larger
    in_v = there[:, None] & (of_v < D_V)[None, :]
    tl.store(output + (row * HEADS + head) * D_V + of_v[None, :], sums / total[:, None], mask=in_v)


# The best words of each row


@triton.jit
def _allowed_scores(scores, word, inside, slot, state, length, limit, prefix, needed, positions, words, min_length):
    """Scores, and the same with -∞ where the word may not come next: `beam_search._allowed`."""
    score = tl.load(scores + word, mask=inside, other=float("-inf"))
    so_far = tl.load(length + slot)
    most = tl.load(limit + slot)
    left = tl.minimum(tl.maximum(most - so_far - 1, -1), 126)
    at = tl.minimum(so_far + 1, positions - 1)
    forced = tl.load(prefix + slot * positions + at)
    forced = tl.where(so_far >= most, END, forced)  # 0, padding, if there is a choice
    may = tl.load(needed + state * words + word, mask=inside, other=127) <= left
    may = may & tl.where(forced > 0, word == forced, (word != END) | (so_far >= min_length))
    return score, tl.where(may, score, float("-inf"))


@triton.jit
def best_of_chunks(
    scores, log_probability, spelled, length, limit, prefix, needed, maxima, parts,
    positions, words, chunks, min_length, W: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One pass over a row's scores: the highest that may come of each chunk of the vocabulary, and of each tile of
    chunks the largest score and the sum of the exponentials, whatever may come.
    """
    _wait()
    row, tile = tl.program_id(0).to(tl.int64), tl.program_id(1)
    if tl.load(log_probability + row) > float("-inf"):
        chunk = tile * TILE + tl.arange(0, TILE)
        word = chunk[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
        score, allowed = _allowed_scores(
            scores + row * words, word, word < words, row // W, tl.load(spelled + row),
            length, limit, prefix, needed, positions, words, min_length,
        )  # fmt: skip
        tl.store(maxima + row * chunks + chunk, tl.max(allowed, 1), mask=chunk < chunks)
        largest = tl.max(score)
        place = parts + (row * tl.num_programs(1) + tile) * 2
        tl.store(place, largest)
        tl.store(place + 1, tl.sum(tl.exp(score - tl.where(largest == float("-inf"), 0.0, largest))))


@triton.jit
def best_words(
    scores, log_probability, spelled, length, limit, prefix, needed, maxima, parts, best, best_ids,
    positions, words, chunks, tiles, min_length,
    W: tl.constexpr, COUNT: tl.constexpr, PADDED_COUNT: tl.constexpr, CHUNK: tl.constexpr,
    PADDED_CHUNKS: tl.constexpr, PADDED_TILES: tl.constexpr,
):  # fmt: skip
    """A row's COUNT most probable words that may come: their log-probabilities and ids, equals by id.

    They lie in the COUNT chunks with the highest maxima, of equal ones the first.
    """
    _wait()
    row = tl.program_id(0).to(tl.int64)
    number = tl.arange(0, PADDED_COUNT)
    values = tl.full([PADDED_COUNT], float("-inf"), tl.float32)
    ids = tl.zeros([PADDED_COUNT], tl.int32)
    if tl.load(log_probability + row) > float("-inf"):
        chunk = tl.arange(0, PADDED_CHUNKS)
        highest = tl.load(maxima + row * chunks + chunk, mask=chunk < chunks, other=float("-inf"))
        chosen = tl.full([PADDED_COUNT], _NONE, tl.int32)
        for turn in range(COUNT):
            most = tl.max(highest, 0)
            first = tl.min(tl.where((highest == most) & (highest > float("-inf")), chunk, _NONE), 0)
            chosen = tl.where(number == turn, first, chosen)
            highest = tl.where(chunk == first, float("-inf"), highest)
        word = chosen[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
        inside = (chosen < _NONE)[:, None] & (word < words)
        _, allowed = _allowed_scores(
            scores + row * words, word, inside, row // W, tl.load(spelled + row),
            length, limit, prefix, needed, positions, words, min_length,
        )  # fmt: skip
        for turn in range(COUNT):
            most = tl.max(allowed)
            first = tl.min(tl.where((allowed == most) & inside, word, _NONE))
            values = tl.where(number == turn, most, values)
            ids = tl.where(number == turn, first, ids)
            allowed = tl.where(word == first, float("-inf"), allowed)
        tile = tl.arange(0, PADDED_TILES)
        place = parts + (row * tiles + tile) * 2
        largest = tl.load(place, mask=tile < tiles, other=float("-inf"))
        reference = tl.max(largest, 0)
        total = tl.sum(tl.exp(largest - reference) * tl.load(place + 1, mask=tile < tiles, other=0.0), 0)
        values = values - reference - tl.log(total)
    known = number < COUNT
    tl.store(best + row * COUNT + number, values, mask=known)
    tl.store(best_ids + row * COUNT + number, tl.where(values > float("-inf"), ids, 0), mask=known)


# The hypotheses


@triton.jit
def _before(value, number, other, other_number):
    """[these, others]: whether the other comes before this one, by value and then by number."""
    first = other_number[None, :] < number[:, None]
    return (other[None, :] > value[:, None]) | ((other[None, :] == value[:, None]) & first)


@triton.jit
def advance(
    best, best_ids, penalties, following,
    log_probability, ids, rows, length, limit, n_best, spelled, done,
    ended_score, ended_log_probability, ended_length, ended_rows, positions, words,
    W: tl.constexpr, PADDED_W: tl.constexpr, COUNT: tl.constexpr, PADDED_COUNT: tl.constexpr,
    LOOKED_AT: tl.constexpr, PADDED_LOOKED_AT: tl.constexpr, COLUMNS: tl.constexpr,
    BEAM: tl.constexpr, ENOUGH: tl.constexpr,
):  # fmt: skip
    """A slot's hypotheses lengthened by one word: `beam_search.advance_beams`, or greedy search if not BEAM."""
    _wait()
    slot = tl.program_id(0).to(tl.int64)
    if tl.load(done + slot) == 0:
        beam, number = tl.arange(0, PADDED_W), tl.arange(0, PADDED_LOOKED_AT)
        first_row, in_beam = slot * W, beam < W
        so_far = tl.load(length + slot)
        # The most probable continuations of all beams; of equal ones the first.
        candidate = tl.arange(0, PADDED_W * PADDED_COUNT)
        parent, place = candidate // PADDED_COUNT, candidate % PADDED_COUNT
        inside = (parent < W) & (place < COUNT)
        value = tl.load(best + (first_row + parent) * COUNT + place, mask=inside, other=float("-inf"))
        value += tl.load(log_probability + first_row + parent, mask=inside, other=float("-inf"))
        values = tl.full([PADDED_LOOKED_AT], float("-inf"), tl.float32)
        chosen = tl.zeros([PADDED_LOOKED_AT], tl.int32)
        for turn in range(LOOKED_AT):
            most = tl.max(value, 0)
            first = tl.min(tl.where((value == most) & (value > float("-inf")), candidate, _NONE), 0)
            values = tl.where(number == turn, most, values)
            chosen = tl.where((number == turn) & (first < _NONE), first, chosen)
            value = tl.where(candidate == first, float("-inf"), value)
        real = values > float("-inf")
        parents = chosen // PADDED_COUNT
        new_ids = tl.load(best_ids + (first_row + parents) * COUNT + chosen % PADDED_COUNT, mask=real, other=0)
        ends = real & (new_ids == END)
        # Those that end join the finished ones, of which the best W stay.
        new_score = tl.where(ends, tl.div_rn(values, tl.load(penalties + so_far + 1)), float("-inf"))
        old_score = tl.load(ended_score + first_row + beam, mask=in_beam, other=float("-inf"))
        old_log_probability = tl.load(ended_log_probability + first_row + beam, mask=in_beam, other=float("-inf"))
        old_length = tl.load(ended_length + first_row + beam, mask=in_beam, other=0)
        old_rank = tl.sum(_before(old_score, beam, old_score, beam).to(tl.int32), 1)
        old_rank += tl.sum(_before(old_score, beam, new_score, PADDED_W + number).to(tl.int32), 1)
        new_rank = tl.sum(_before(new_score, number, new_score, number).to(tl.int32), 1)
        new_rank += tl.sum(_before(new_score, PADDED_W + number, old_score, beam).to(tl.int32), 1)
        stays = beam[:, None] == old_rank[None, :]
        joins = (beam[:, None] == new_rank[None, :]) & ends[None, :]
        score = tl.sum(tl.where(stays, old_score[None, :], 0.0), 1) + tl.sum(
            tl.where(joins, new_score[None, :], 0.0), 1
        )
        summed = tl.sum(tl.where(stays, old_log_probability[None, :], 0.0), 1)
        summed += tl.sum(tl.where(joins, values[None, :], 0.0), 1)
        words_of = tl.sum(tl.where(stays, old_length[None, :], 0), 1)
        words_of += tl.sum(tl.where(joins, so_far, 0), 1)
        old_place = tl.sum(tl.where(stays, beam[None, :], 0), 1)
        old_parent = tl.sum(tl.where(joins, parents[None, :], 0), 1)
        is_new = tl.sum(joins.to(tl.int32), 1) > 0
        # The first W that do not end live on.
        rank = tl.cumsum(tl.where(ends | (number >= LOOKED_AT), 0, 1), 0) - 1
        lives = (beam[:, None] == rank[None, :]) & (~ends & (number < LOOKED_AT))[None, :]
        is_there = in_beam & (tl.sum(lives.to(tl.int32), 1) > 0)
        live = tl.where(is_there, tl.sum(tl.where(lives, values[None, :], 0.0), 1), float("-inf"))
        live_parent = tl.sum(tl.where(lives, parents[None, :], 0), 1)
        live_id = tl.sum(tl.where(lives, new_ids[None, :], 0), 1)
        state = tl.load(spelled + first_row + live_parent, mask=in_beam, other=0)
        state = tl.load(following + state * words + live_id, mask=in_beam, other=0).to(tl.int64)
        highest = tl.max(tl.where(live > float("-inf"), live, float("-inf")), 0)
        is_done = highest == float("-inf")
        going = ~is_done & (so_far < positions - 1)
        now = so_far + going.to(tl.int64)
        some_end = tl.max(ends.to(tl.int32), 0) > 0
        for start in range(0, now + 1, COLUMNS):
            column = start + tl.arange(0, COLUMNS)
            there = in_beam[:, None] & (column <= now)[None, :]
            old = tl.load(rows + (first_row + live_parent)[:, None] * positions + column[None, :], mask=there, other=0)
            ended = tl.load(
                ended_rows + (first_row + old_place)[:, None] * positions + column[None, :],
                mask=there & ~is_new[:, None] & some_end, other=0,
            ) + tl.load(
                rows + (first_row + old_parent)[:, None] * positions + column[None, :],
                mask=there & is_new[:, None] & some_end, other=0,
            )  # fmt: skip
            old = tl.where(column[None, :] == now, beam[:, None].to(tl.int64), old)
            tl.debug_barrier()  # every line is read before any is written
            here = (first_row + beam)[:, None] * positions + column[None, :]
            tl.store(rows + here, old, mask=there & going)
            tl.store(ended_rows + here, ended, mask=there & some_end)
        tl.debug_barrier()
        own = first_row + beam
        tl.store(ids + own * positions + now, live_id.to(tl.int64), mask=in_beam & going)
        tl.store(spelled + own, state, mask=in_beam)
        tl.store(ended_score + own, score, mask=in_beam & some_end)
        tl.store(ended_log_probability + own, summed, mask=in_beam & some_end)
        tl.store(ended_length + own, words_of, mask=in_beam & some_end)
        if BEAM:  # no completion can be better than the best live one over the largest penalty
            bound = tl.div_rn(highest, tl.load(penalties + tl.load(limit + slot) + 1))
            worst = tl.max(tl.where(beam == tl.load(n_best + slot) - 1, score, float("-inf")), 0)
            is_done = is_done | (worst >= bound)
            if ENOUGH:
                is_done = is_done | (tl.max(tl.where(beam == W - 1, score, float("-inf")), 0) > float("-inf"))
        tl.store(log_probability + own, tl.where(is_done, float("-inf"), live), mask=in_beam)
        tl.store(done + slot, is_done)
        tl.store(length + slot, now)
