"""Section 3.2.2: MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)."""

from __future__ import annotations

from torch import Tensor, nn

from heedful.errors import ShapeError
from heedful.model.attention_kernels import Attend, Where, equation_1
from heedful.model.devices import Linear
from heedful.model.initialization import initialize_linear


class MultiHeadAttention(nn.Module):
    """h attention functions side by side, each on its own projection of queries, keys and values.

    >>> import torch
    >>> attention = MultiHeadAttention(d_model=512, num_heads=8)
    >>> x = torch.randn(2, 10, 512)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([2, 10, 512]), torch.Size([2, 8, 10, 10]))

    d_k and d_v are free; Table 3 row B shrinks d_k alone:

    >>> narrow = MultiHeadAttention(d_model=512, num_heads=8, d_k=16)
    >>> narrow(x, x, x)[0].shape
    torch.Size([2, 10, 512])
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int = 0,
        d_v: int = 0,
        dropout: float = 0.0,
        attend: Attend = equation_1,
    ) -> None:
        super().__init__()
        if min(d_model, num_heads) < 1 or min(d_k, d_v) < 0:
            raise ShapeError(f"d_model={d_model}, num_heads={num_heads}, d_k={d_k}, d_v={d_v}: must be positive")
        if not (d_k and d_v) and d_model % num_heads:
            raise ShapeError(
                f"d_model={d_model} cannot be divided into num_heads={num_heads} equal heads: choose sizes that "
                "divide, or give d_k and d_v"
            )
        self.d_model, self.num_heads = d_model, num_heads
        self.d_k, self.d_v = d_k or d_model // num_heads, d_v or d_model // num_heads
        self.dropout = require_probability(dropout, "dropout")
        self.attend = attend
        # W^Q, W^K and W^V of all heads in one matrix: self-attention then needs one product instead of three.
        self.rows = [num_heads * self.d_k, num_heads * self.d_k, num_heads * self.d_v]
        self.w_qkv = Linear(d_model, sum(self.rows))
        self.w_o = nn.Linear(num_heads * self.d_v, d_model)
        initialize_linear(self.w_qkv, blocks=self.rows)
        initialize_linear(self.w_o)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Where = None) -> tuple[Tensor, Tensor | None]:
        """The attended vectors, ``[..., queries, d_model]``, and the weights where the kernel forms them.

        The mask is True or 1 where a query may attend to a key: ``[queries, keys]``, ``[batch, queries, keys]``
        or ``[batch, heads, queries, keys]``, with 1 where all share a value; or an `AttentionPattern`.
        """
        self._check(q=q, k=k, v=v)
        heads_q, heads_k, heads_v = self.project(q, k, v)
        output, weights = self.attend(heads_q, heads_k, heads_v, mask, dropout=self.dropout if self.training else 0.0)
        return self.w_o(output.flatten(-2)), weights

    def project(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q W^Q, K W^K and V W^V split into heads, each ``[..., length, heads, size]``."""
        if q is k and k is v:
            queries, keys, values = self.w_qkv(q).split(self.rows, dim=-1)
            return self._heads(queries, self.d_k), self._heads(keys, self.d_k), self._heads(values, self.d_v)
        if k is v:
            return self.queries(q), *self.keys_and_values(k)
        rows_q, rows_k, _ = self.rows
        keys = self.w_qkv.part(k, slice(rows_q, rows_q + rows_k))
        values = self.w_qkv.part(v, slice(rows_q + rows_k, None))
        return self.queries(q), self._heads(keys, self.d_k), self._heads(values, self.d_v)

    def queries(self, x: Tensor) -> Tensor:
        """X W^Q, ``[..., length, heads, d_k]``."""
        return self._heads(self.w_qkv.part(x, slice(self.rows[0])), self.d_k)

    def keys_and_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """X W^K and X W^V, for a decoder that keeps them."""
        keys, values = self.w_qkv.part(x, slice(self.rows[0], None)).split(self.rows[1:], dim=-1)
        return self._heads(keys, self.d_k), self._heads(values, self.d_v)

    def _heads(self, x: Tensor, size: int) -> Tensor:
        return x.unflatten(-1, (self.num_heads, size))

    def _check(self, **inputs: Tensor) -> None:
        for name, x in inputs.items():
            if x.dim() < 2 or x.size(-1) != self.d_model:
                raise ShapeError(f"{name} is {list(x.shape)}, but must be [..., length, d_model={self.d_model}]")
        if inputs["k"].shape[:-1] != inputs["v"].shape[:-1]:
            shapes = f"k is {list(inputs['k'].shape)} and v {list(inputs['v'].shape)}"
            raise ShapeError(f"{shapes}: each key needs its value")


def require_probability(value: float, name: str) -> float:
    """The value, if it can be a dropout rate."""
    if not 0 <= value < 1:
        raise ShapeError(f"{name}={value}: must be at least 0 and below 1")
    return value
