"""An estimate of the memory that one process needs on its device. It is an estimate: kernels and allocators differ.

What stays for the whole run, with P parameters: the parameters, their gradients and Adam's two moments in float32, 16
bytes a parameter.

What one micro-batch holds between its forward and its backward pass, for each token; w is 2 bytes in half precision,
else 4, and the sum that a LayerNorm normalises is always float32. ``queries`` are h·d_k numbers, ``values`` h·d_v:

    self-attention   w·d (its input) + w·(2·queries + values) + w·values (what it attended to) + 4·h (the normalisers)
    cross-attention  w·d + w·queries + w·values + 4·h for a target token; w·d + w·(queries + values) for a source token
    feed-forward     w·d + w·d_ff (after the ReLU)
    after each       4·d (the sum) and, if dropout is on, what was dropped: d bytes, in full precision 4·d
    embedding        what was dropped

In full precision a sub-layer's input is the float32 output of the norm before it, once for all who read it; in half
precision each reader casts a copy of its own. The source's last vectors are such an input, of each decoder layer.

Not counted: what a kernel keeps that does not fuse attention (on a CPU, where d_k and d_v differ: all scores) or that
fills heads up; and what the backward pass holds of one layer at a time.

The loss is computed in slices of at most 2^27 scores, whose gradient takes their place.

Captured graphs (CUDA) keep a working memory of their own, and while a shape is captured it is run beside them: two
working memories (`training.machine`, which measures what one is). By arithmetic alone one is more than activations
and loss, for the reasons above and because torch reserves more than it uses. On an H200 so much was seen beyond what
stays, for each byte of activations and loss: 2.7 (Multi30k's small model), 3.1 (23 M parameters) and 3.6 (base). The
largest is taken, half of it for each working memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from heedful.config import ModelConfig
from heedful.presets import parameter_count
from heedful.training.flops import SCORES_AT_ONCE_ON_CUDA, WORKING_MEMORIES_OF_GRAPHS

RESERVED = 1.8
"""Bytes of a captured step's working memory for each byte of activations and loss; measured, see above."""
GIB = 1 << 30


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes, by what they are for."""

    parameters: int
    gradients: int
    adam: int
    working_copy: int
    """The parameters in half precision, while a step is computed."""
    activations: int
    loss: int
    capturing: int
    """The graphs' own working memory."""

    @property
    def kept(self) -> int:
        """What stays for the whole run, however fine a step is cut."""
        return self.parameters + self.gradients + self.adam + self.working_copy

    @property
    def total(self) -> int:
        return self.kept + self.activations + self.loss + self.capturing


def memory_estimate(
    model: ModelConfig,
    *,
    vocab_size: int,
    source_tokens: int,
    target_tokens: int,
    half_precision: bool,
    source_vocab_size: int | None = None,
    captured: bool = False,
) -> MemoryEstimate:
    """What one process needs for micro-batches of so many tokens, padding included; ``captured``: as CUDA graphs."""
    parameters = parameter_count(model, vocab_size=vocab_size, source_vocab_size=source_vocab_size)
    tokens = {"source_tokens": source_tokens, "target_tokens": target_tokens}
    activations = activation_bytes(model, **tokens, half_precision=half_precision)
    # A slice's scores and their gradient; the matrix's gradient, twice; that of the last vectors.
    scores = min(target_tokens * vocab_size, SCORES_AT_ONCE_ON_CUDA)
    loss = scores * (2 + 2 if half_precision else 4 + 4) + (2 * vocab_size + target_tokens) * 4 * model.d_model
    return MemoryEstimate(
        parameters=4 * parameters,
        gradients=4 * parameters,
        adam=8 * parameters,
        working_copy=2 * parameters if half_precision else 0,
        activations=activations,
        loss=loss,
        capturing=round((WORKING_MEMORIES_OF_GRAPHS * RESERVED - 1) * (activations + loss)) if captured else 0,
    )


def activation_bytes(model: ModelConfig, *, source_tokens: int, target_tokens: int, half_precision: bool) -> int:
    """What the layers keep for the backward pass of a micro-batch; the module's docstring has the formula."""
    w = 2 if half_precision else 4
    d, heads = model.d_model, model.num_heads
    queries, values = heads * model.key_size, heads * model.value_size
    # One byte each on CUDA. A CPU keeps them as numbers, and full precision is mostly a CPU's.
    dropped = d * (1 if half_precision else 4) if model.dropout else 0
    after = 4 * d + dropped
    self_attention = w * (d + 2 * queries + 2 * values) + 4 * heads + after
    cross_attention = w * (d + queries + values) + 4 * heads + after
    feed_forward = w * (d + model.d_ff) + after
    memory = w * (queries + values) + (w * d if half_precision else 0)
    source = model.encoder_layers * (self_attention + feed_forward) + model.decoder_layers * memory + dropped
    target = model.decoder_layers * (self_attention + cross_attention + feed_forward) + dropped
    last = 4 * d  # the stacks' outputs, which no sub-layer of their own reads
    return source_tokens * (source + last) + target_tokens * (target + last)
