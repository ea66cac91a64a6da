"""The kernels in Triton: attention over intervals, Add & Norm, the gradients of biases and the ReLU, the loss.

Each is one pass over memory where PyTorch's own, compiled or not, need several; the modules that call them hold their
equations in plain PyTorch, which tests compare. Fixed sizes, rounded up to powers of two where Triton asks for them,
chosen by measurement on an H200 (docs/log.md). Imported on CUDA alone, where Triton comes with PyTorch.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _left_by_dropout(seed, rows, columns, head, dropout):
    """Which weights dropout leaves: a function of seed, query, key and head alone, so that every kernel agrees."""
    zero = rows * 0 + columns * 0
    bits, _, _, _ = tl.philox(seed, zero + columns, zero + rows, zero + head, zero)
    return tl.uint_to_uniform_float(bits) >= dropout


@triton.jit
def _own_queries(first, end, queries, ROWS: tl.constexpr):
    """The queries of this program, their places (which may lie beyond what 32 bits can say), whether each is there, and
    where its interval begins and ends.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < queries
    begin, end = _intervals(first, end, rows, inside)
    return rows, rows.to(tl.int64), inside, begin, end


@triton.jit
def _intervals(first, end, rows, there):
    return tl.load(first + rows, mask=there, other=2147483647), tl.load(end + rows, mask=there, other=0)


@triton.jit
def _tile(x, place, row, there, of, SIZE: tl.constexpr):
    """The vectors at these places, each of so many numbers, as rows; zeros for those that are not there."""
    return tl.load(x + place[:, None] * row + of[None, :], mask=there[:, None] & (of[None, :] < SIZE), other=0.0)


@triton.jit
def _tile_across(x, place, row, there, of, SIZE: tl.constexpr):
    """The same as columns."""
    return tl.load(x + place[None, :] * row + of[:, None], mask=there[None, :] & (of[:, None] < SIZE), other=0.0)


@triton.jit
def attention(
    q, k, v, output, normaliser, first, end, seed,
    q_row, q_head, k_row, k_head, v_row, v_head, queries,
    scale, dropout,
    HEADS: tl.constexpr, D_K: tl.constexpr, D_V: tl.constexpr, PADDED_K: tl.constexpr, PADDED_V: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Softmax over each query's interval, one tile of keys after the other, rescaled whenever a larger score comes."""
    head = tl.program_id(1)
    rows, wide, inside, row_first, row_end = _own_queries(first, end, queries, ROWS)
    of_k, of_v = tl.arange(0, PADDED_K), tl.arange(0, PADDED_V)
    q_tile = _tile(q + head * q_head, wide, q_row, inside, of_k, D_K)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, PADDED_V], tl.float32)
    last = tl.max(row_end, 0)
    for start in range(tl.min(row_first, 0), last, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        far = columns.to(tl.int64)
        there = columns < last
        k_tile = _tile_across(k + head * k_head, far, k_row, there, of_k, D_K)
        seen = (columns[None, :] >= row_first[:, None]) & (columns[None, :] < row_end[:, None])
        scores = tl.where(seen, tl.dot(q_tile, k_tile, input_precision=PRECISION) * scale, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        reference = tl.where(larger == float("-inf"), 0.0, larger)  # nothing seen yet
        weights = tl.exp2(scores - reference[:, None])
        fade = tl.exp2(largest - reference)
        total = total * fade + tl.sum(weights, 1)
        if DROPOUT:
            kept = _left_by_dropout(tl.load(seed), rows[:, None], columns[None, :], head, dropout)
            weights = tl.where(kept, weights / (1 - dropout), 0.0)
        v_tile = _tile(v + head * v_head, far, v_row, there, of_v, D_V)
        sums = sums * fade[:, None] + tl.dot(weights.to(v_tile.dtype), v_tile, input_precision=PRECISION)
        largest = larger
    some = total > 0
    total = tl.where(some, total, 1.0)
    place = wide[:, None] * (HEADS * D_V) + head * D_V + of_v[None, :]
    tl.store(output + place, sums / total[:, None], mask=inside[:, None] & (of_v[None, :] < D_V))
    tl.store(normaliser + rows * HEADS + head, tl.where(some, largest + tl.log2(total), 0.0), mask=inside)


@triton.jit
def attention_query_gradients(
    q, k, v, output, normaliser, first, end, seed, d_output, d_q, delta,
    q_row, q_head, k_row, k_head, v_row, v_head, queries,
    scale, factor, dropout,
    HEADS: tl.constexpr, D_K: tl.constexpr, D_V: tl.constexpr, PADDED_K: tl.constexpr, PADDED_V: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dQ, and for the other kernel ``delta``: the sum over d_v of each output times its gradient."""
    head = tl.program_id(1)
    rows, wide, inside, row_first, row_end = _own_queries(first, end, queries, ROWS)
    of_k, of_v = tl.arange(0, PADDED_K), tl.arange(0, PADDED_V)
    q_tile = _tile(q + head * q_head, wide, q_row, inside, of_k, D_K)
    d_tile = _tile(d_output + head * D_V, wide, HEADS * D_V, inside, of_v, D_V)
    o_tile = _tile(output + head * D_V, wide, HEADS * D_V, inside, of_v, D_V)
    row_delta = tl.sum(d_tile.to(tl.float32) * o_tile.to(tl.float32), 1)
    tl.store(delta + rows * HEADS + head, row_delta, mask=inside)
    row_normaliser = tl.load(normaliser + rows * HEADS + head, mask=inside, other=0.0)
    sums = tl.zeros([ROWS, PADDED_K], tl.float32)
    last = tl.max(row_end, 0)
    for start in range(tl.min(row_first, 0), last, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        far = columns.to(tl.int64)
        there = columns < last
        k_tile = _tile(k + head * k_head, far, k_row, there, of_k, D_K)
        v_tile = _tile_across(v + head * v_head, far, v_row, there, of_v, D_V)
        seen = (columns[None, :] >= row_first[:, None]) & (columns[None, :] < row_end[:, None])
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision=PRECISION) * scale
        weights = tl.where(seen, tl.exp2(scores - row_normaliser[:, None]), 0.0)
        d_weights = tl.dot(d_tile, v_tile, input_precision=PRECISION)
        if DROPOUT:
            kept = _left_by_dropout(tl.load(seed), rows[:, None], columns[None, :], head, dropout)
            d_weights = tl.where(kept, d_weights / (1 - dropout), 0.0)
        d_scores = weights * (d_weights - row_delta[:, None])
        sums += tl.dot(d_scores.to(k_tile.dtype), k_tile, input_precision=PRECISION)
    in_k = inside[:, None] & (of_k[None, :] < D_K)
    tl.store(d_q + wide[:, None] * q_row + head * q_head + of_k[None, :], sums * factor, mask=in_k)


@triton.jit
def attention_key_value_gradients(
    q, k, v, normaliser, first, end, first_query, end_query, seed, d_output, delta, d_k, d_v,
    q_row, q_head, k_row, k_head, v_row, v_head, queries, keys,
    scale, factor, dropout,
    HEADS: tl.constexpr, D_K: tl.constexpr, D_V: tl.constexpr, PADDED_K: tl.constexpr, PADDED_V: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dK and dV of a tile of keys, over all queries that see any of them; everything transposed."""
    head = tl.program_id(1)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    far = columns.to(tl.int64)
    inside = columns < keys
    begin = tl.min(tl.load(first_query + columns, mask=inside, other=2147483647), 0)
    last = tl.max(tl.load(end_query + columns, mask=inside, other=0), 0)
    of_k, of_v = tl.arange(0, PADDED_K), tl.arange(0, PADDED_V)
    k_tile = _tile(k + head * k_head, far, k_row, inside, of_k, D_K)
    v_tile = _tile(v + head * v_head, far, v_row, inside, of_v, D_V)
    k_sums = tl.zeros([COLUMNS, PADDED_K], tl.float32)
    v_sums = tl.zeros([COLUMNS, PADDED_V], tl.float32)
    for start in range(begin, last, ROWS):
        rows = start + tl.arange(0, ROWS)
        wide = rows.to(tl.int64)
        there = rows < last
        row_first, row_end = _intervals(first, end, rows, there)
        row_normaliser = tl.load(normaliser + rows * HEADS + head, mask=there, other=0.0)
        row_delta = tl.load(delta + rows * HEADS + head, mask=there, other=0.0)
        q_tile = _tile(q + head * q_head, wide, q_row, there, of_k, D_K)
        d_tile = _tile(d_output + head * D_V, wide, HEADS * D_V, there, of_v, D_V)
        seen = (columns[:, None] >= row_first[None, :]) & (columns[:, None] < row_end[None, :])
        scores = tl.dot(k_tile, tl.trans(q_tile), input_precision=PRECISION) * scale
        weights = tl.where(seen, tl.exp2(scores - row_normaliser[None, :]), 0.0)
        d_weights = tl.dot(v_tile, tl.trans(d_tile), input_precision=PRECISION)
        used = weights
        if DROPOUT:
            kept = _left_by_dropout(tl.load(seed), rows[None, :], columns[:, None], head, dropout)
            used = tl.where(kept, weights / (1 - dropout), 0.0)
            d_weights = tl.where(kept, d_weights / (1 - dropout), 0.0)
        v_sums += tl.dot(used.to(d_tile.dtype), d_tile, input_precision=PRECISION)
        d_scores = weights * (d_weights - row_delta[None, :])
        k_sums += tl.dot(d_scores.to(q_tile.dtype), q_tile, input_precision=PRECISION)
    in_k, in_v = inside[:, None] & (of_k[None, :] < D_K), inside[:, None] & (of_v[None, :] < D_V)
    tl.store(d_k + far[:, None] * k_row + head * k_head + of_k[None, :], k_sums * factor, mask=in_k)
    tl.store(d_v + far[:, None] * v_row + head * v_head + of_v[None, :], v_sums, mask=in_v)


@triton.jit
def _noise(seed, rows, PADDED: tl.constexpr, dropout):
    """What each number of these rows is multiplied by: 0, or 1 / (1 - dropout). One draw serves four numbers."""
    place = rows[:, None] * (PADDED // 4) + tl.arange(0, PADDED // 4)[None, :]
    zero = place * 0
    a, b, c, d = tl.philox(tl.load(seed), place, zero, zero, zero, 7)
    bits = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), [rows.shape[0], PADDED])
    return tl.where(tl.uint_to_uniform_float(bits) >= dropout, 1.0 / (1.0 - dropout), 0.0)


@triton.jit
def _sum_with_noise(x, s, place, inside, noise):
    z = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    return z + noise * tl.load(s + place, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def add_and_norm(
    x, s, weight, bias, y, statistics, seed, count, dropout, epsilon,
    SIZE: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """y = LayerNorm(x + Dropout(s)), reading two vectors and writing one; and each row's mean and 1 / deviation."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, PADDED)
    inside = (rows < count)[:, None] & (column < SIZE)[None, :]
    place = rows[:, None].to(tl.int64) * SIZE + column[None, :]
    noise = 1.0
    if DROPOUT:
        noise = _noise(seed, rows, PADDED, dropout)
    z = _sum_with_noise(x, s, place, inside, noise)
    mean = tl.sum(z, 1) / SIZE
    z = tl.where(inside, z - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(z * z, 1) / SIZE + epsilon)
    w = tl.load(weight + column, mask=column < SIZE, other=0.0)
    b = tl.load(bias + column, mask=column < SIZE, other=0.0)
    tl.store(y + place, z * scale[:, None] * w[None, :] + b[None, :], mask=inside)
    tl.store(statistics + rows, mean, mask=rows < count)
    tl.store(statistics + count + rows, scale, mask=rows < count)


@triton.jit
def add_and_norm_gradients(
    x, s, weight, statistics, d_y, d_x, d_s, d_weight, d_bias, d_sum, seed, count, dropout,
    SIZE: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Gradients of x and s; and summed over this program's rows those of weight and bias, and that of s.

    The noise was not kept: it is drawn again.
    """
    column = tl.arange(0, PADDED)
    w = tl.load(weight + column, mask=column < SIZE, other=0.0)[None, :]
    weight_sums = tl.zeros([ROWS, PADDED], tl.float32)
    bias_sums = tl.zeros([ROWS, PADDED], tl.float32)
    s_sums = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(tl.program_id(0) * ROWS, count, tl.num_programs(0) * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows < count)[:, None] & (column < SIZE)[None, :]
        place = rows[:, None].to(tl.int64) * SIZE + column[None, :]
        mean = tl.load(statistics + rows, mask=rows < count, other=0.0)[:, None]
        scale = tl.load(statistics + count + rows, mask=rows < count, other=0.0)[:, None]
        g = tl.load(d_y + place, mask=inside, other=0.0).to(tl.float32)
        noise = 1.0
        if DROPOUT:
            noise = _noise(seed, rows, PADDED, dropout)
        z = tl.where(inside, (_sum_with_noise(x, s, place, inside, noise) - mean) * scale, 0.0)
        weight_sums += g * z
        bias_sums += g
        g *= w
        g = scale * (g - tl.sum(g, 1)[:, None] / SIZE - z * (tl.sum(g * z, 1)[:, None] / SIZE))
        tl.store(d_x + place, g, mask=inside)
        g = tl.where(inside, g * noise, 0.0)
        tl.store(d_s + place, g, mask=inside)
        s_sums += g
    own = tl.program_id(0) * SIZE + column
    tl.store(d_weight + own, tl.sum(weight_sums, 0), mask=column < SIZE)
    tl.store(d_bias + own, tl.sum(bias_sums, 0), mask=column < SIZE)
    tl.store(d_sum + own, tl.sum(s_sums, 0), mask=column < SIZE)


@triton.jit
def column_sums(
    gradient, h, sums, count,
    SIZE: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, GATED: tl.constexpr,
):  # fmt: skip
    """A gradient summed over this program's rows; if GATED, that before the ReLU of ``h``, written over that after."""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = column < SIZE
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(tl.program_id(0) * ROWS, count, tl.num_programs(0) * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows < count)[:, None] & there[None, :]
        place = rows[:, None].to(tl.int64) * SIZE + column[None, :]
        g = tl.load(gradient + place, mask=inside, other=0.0)
        if GATED:
            g = tl.where(tl.load(h + place, mask=inside, other=0.0) > 0, g, 0.0)
            tl.store(gradient + place, g, mask=inside)
        total += g.to(tl.float32)
    tl.store(sums + tl.program_id(0) * SIZE + column, tl.sum(total, 0), mask=there)


@triton.jit
def losses_and_gradients(
    scores, targets, smoothed, plain, words, label_smoothing, share, padding, stride,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """A row's smoothed and plain loss, and its scores turned into their gradient, in place.

    Two passes over the row: the softmax's denominator and the sum of the scores; then the gradient, backwards, since
    the end of the row was read last and is nearest.
    """
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    base = scores + row * stride
    at_target = tl.load(base + target).to(tl.float32)
    offset = tl.arange(0, BLOCK)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    level = tl.zeros([BLOCK], tl.float32)
    blocks = tl.cdiv(words, BLOCK)
    for block in range(blocks):
        column = block * BLOCK + offset
        there = column < words
        score = tl.load(base + column, mask=there, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, score)
        reference = tl.where(larger == float("-inf"), 0.0, larger)
        total = total * tl.exp(largest - reference) + tl.exp(score - reference)
        level += tl.where(there, score, 0.0)
        largest = larger
    most = tl.max(largest, 0)
    normaliser = most + tl.log(tl.sum(total * tl.exp(largest - most), 0))
    true = normaliser - at_target
    wrong = words * normaliser - tl.sum(level, 0) - true
    counted = (target != padding).to(tl.float32)
    tl.store(smoothed + row, ((1 - label_smoothing) * true + share * wrong) * counted)
    tl.store(plain + row, true * counted)
    for step in range(blocks):
        column = (blocks - 1 - step) * BLOCK + offset
        there = column < words
        score = tl.load(base + column, mask=there, other=float("-inf")).to(tl.float32)
        wanted = tl.where(column == target, 1 - label_smoothing, share)
        tl.store(base + column, (tl.exp(score - normaliser) - wanted) * counted, mask=there)
