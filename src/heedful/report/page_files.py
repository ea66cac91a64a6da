"""Pages that need nothing but a browser: their files in ``page/``, joined with what is to be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any


def page_file(name: str) -> str:
    """A file of ``page/`` as text."""
    return resources.files("heedful.report").joinpath("page", name).read_text(encoding="utf-8")


def page_style(name: str) -> str:
    """A style sheet of ``page/``, after the colours that all pages share."""
    return page_file("palette.css") + page_file(name)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with each ``{{name}}`` replaced, in one pass: a part that spells such a mark stays as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], template)


def script_json(data: Any) -> str:
    """JSON that stays inside its script element, whatever its texts spell."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
