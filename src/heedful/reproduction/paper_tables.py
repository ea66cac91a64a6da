"""What the paper prints in Tables 2, 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class System:
    """A row of Table 2: BLEU on newstest2014 and training operations, English to German and to French."""

    name: str
    de: float | None
    fr: float | None
    de_flops: float | None = None
    fr_flops: float | None = None


TABLE_2: tuple[System, ...] = (
    System("ByteNet", 23.75, None),
    System("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    System("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    System("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    System("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    System("Deep-Att + PosUnk, ensemble", None, 40.4, None, 8.0e20),
    System("GNMT + RL, ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    System("ConvS2S, ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    System("Transformer (base)", 27.3, 38.1, 3.3e18, 3.3e18),
    System("Transformer (big)", 28.4, 41.8, 2.3e19, 2.3e19),
)

TABLE_3: dict[str, tuple[float, float]] = {
    "base": (4.92, 25.8),
    "table3-a-h1": (5.29, 24.9),
    "table3-a-h4": (5.00, 25.5),
    "table3-a-h16": (4.91, 25.8),
    "table3-a-h32": (5.01, 25.4),
    "table3-b-dk16": (5.16, 25.1),
    "table3-b-dk32": (5.01, 25.4),
    "table3-c-n2": (6.11, 23.7),
    "table3-c-n4": (5.19, 25.3),
    "table3-c-n8": (4.88, 25.5),
    "table3-c-d256": (5.75, 24.5),
    "table3-c-d1024": (4.66, 26.0),
    "table3-c-ff1024": (5.12, 25.4),
    "table3-c-ff4096": (4.75, 26.2),
    "table3-d-drop0": (5.77, 24.6),
    "table3-d-drop0.2": (4.95, 25.5),
    "table3-d-smooth0": (4.67, 25.3),
    "table3-d-smooth0.2": (5.47, 25.7),
    "table3-e-learned": (4.92, 25.7),
    "big": (4.33, 26.4),
}
"""Perplexity a word piece and BLEU on newstest2013, by the preset that has the row's sizes."""


@dataclass(frozen=True)
class Parser:
    """A row of Table 4: F1 on section 23 of the WSJ."""

    name: str
    training: str
    f1: float


_WSJ, _SEMI = "WSJ only, discriminative", "semi-supervised"
TABLE_4: tuple[Parser, ...] = (
    Parser("Vinyals & Kaiser et al. (2014)", _WSJ, 88.3),
    Parser("Petrov et al. (2006)", _WSJ, 90.4),
    Parser("Zhu et al. (2013)", _WSJ, 90.4),
    Parser("Dyer et al. (2016)", _WSJ, 91.7),
    Parser("Transformer (4 layers)", _WSJ, 91.3),
    Parser("Zhu et al. (2013)", _SEMI, 91.3),
    Parser("Huang & Harper (2009)", _SEMI, 91.3),
    Parser("McClosky et al. (2006)", _SEMI, 92.1),
    Parser("Vinyals & Kaiser et al. (2014)", _SEMI, 92.1),
    Parser("Transformer (4 layers)", _SEMI, 92.7),
    Parser("Luong et al. (2015)", "multi-task", 93.0),
    Parser("Dyer et al. (2016)", "generative", 93.3),
)
