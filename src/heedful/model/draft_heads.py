"""Less sequential generation (section 7): small heads on a trained model that guess the words after the next.

From the decoder's output x, which says the word y_1, and the k words since, head k guesses the one that follows them:

    h_k = LayerNorm(x + W_2 ReLU(W_1 [x; e(y_1); …; e(y_k)] + b_1) + b_2)

Its scores are those of h_k by the shared matrix, over the words that come most often alone: a guess may be wrong, and
the whole vocabulary would take more time than is won. `heedful.search.drafts` checks what they guess.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.model.embeddings import SharedEmbedding
from heedful.model.initialization import initialize_linear
from heedful.symbols import END, PAD

HEADS = 2
"""That are trained. A third guess is right too seldom, and on a CPU a fourth position makes a pass slower."""
MOST_WORDS = 4096
"""That heads guess among, `PAD` included."""
NAME = "draft"
"""Of the heads within a model, and so in its files."""


class DraftHead(nn.Module):
    """h_k; W_2 begins as zero, so that training begins from x."""

    def __init__(self, *, d_model: int, words_since: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear((1 + words_since) * d_model, 2 * d_model)
        self.w_2 = nn.Linear(2 * d_model, d_model)
        self.norm = nn.LayerNorm(d_model)
        for linear in (self.w_1, self.w_2):
            initialize_linear(linear)
        nn.init.zeros_(self.w_2.weight)

    def forward(self, x: Tensor, since: list[Tensor]) -> Tensor:
        """``since``: the embeddings of the words since x."""
        return self.norm(x + self.w_2(F.relu(self.w_1(torch.cat([x, *since], -1)))))


class DraftHeads(nn.Module):
    """The heads of a model, and which words they guess among."""

    words: Tensor
    """[n] ids, `PAD` first: it stands for whatever is none of them."""

    def __init__(self, words: Tensor, *, d_model: int, heads: int = HEADS) -> None:
        super().__init__()
        self.register_buffer("words", words)
        self.heads = nn.ModuleList(DraftHead(d_model=d_model, words_since=k + 1) for k in range(heads))

    def lessons(self, x: Tensor, words: Tensor, embedding: SharedEmbedding) -> list[tuple[Tensor, Tensor]]:
        """What there is to learn from sentences: of each head its outputs, and the places in `words` of what follows.

        ``x``: the decoder's outputs, padded or packed; ``words``: the word after each. A place is `PAD` where a word is
        none of `words`, or the sentence has ended before.
        """
        place = torch.full((len(embedding.weight),), PAD, device=words.device)
        place[self.words] = torch.arange(len(self.words), device=words.device)
        since, there, found = [], torch.ones_like(words, dtype=torch.bool), []
        for number, head in enumerate(self.heads):
            last, next_ = (F.pad(words, (0, k), value=PAD)[..., k:].long() for k in (number, number + 1))
            since.append(embedding.embed(last).to(x.dtype))
            there = there & (last != END) & (last != PAD)
            found.append((head(x, since), torch.where(there, place[next_], PAD)))
        return found


def heads_like(weights: Mapping[str, Tensor], *, d_model: int) -> DraftHeads | None:
    """Heads of the number and size that a model's weights have; None where they have none."""
    words = weights.get(f"{NAME}.words")
    if words is None:
        return None
    heads = sum(name.startswith(f"{NAME}.heads.") and name.endswith(".w_1.weight") for name in weights)
    return DraftHeads(torch.zeros(words.numel(), dtype=torch.long), d_model=d_model, heads=heads)
