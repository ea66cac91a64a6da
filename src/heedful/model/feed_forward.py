"""Section 3.3, Equation 2: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.errors import ShapeError
from heedful.model.cuda_sublayers import linear_relu
from heedful.model.devices import has_kernels
from heedful.model.initialization import initialize_linear


class PositionwiseFeedForward(nn.Module):
    """The same two linear maps with a ReLU between them, at every position.

    >>> import torch
    >>> feed_forward = PositionwiseFeedForward(d_model=2, d_ff=3)
    >>> with torch.no_grad():
    ...     _ = feed_forward.w_1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
    ...     _ = feed_forward.w_2.weight.copy_(torch.ones(2, 3))
    >>> feed_forward(torch.tensor([[3.0, -5.0]])).tolist()  # max(0, (3, -5, -3)) = (3, 0, 0)
    [[3.0, 3.0]]
    """

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        if min(d_model, d_ff) < 1:
            raise ShapeError(f"d_model={d_model}, d_ff={d_ff}: must be positive")
        self.d_model = d_model
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        initialize_linear(self.w_1)
        initialize_linear(self.w_2)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(-1) != self.d_model:
            raise ShapeError(f"x is {list(x.shape)}, but must be [..., d_model={self.d_model}]")
        fast = has_kernels(x) and not torch.is_grad_enabled()
        return self.w_2(linear_relu(x, self.w_1) if fast else self.w_1(x).relu())
