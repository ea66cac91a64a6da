"""The description of the interface, for people: a page made of ``openapi.json``."""

from __future__ import annotations

import json
import shlex
from typing import Any

from jinja2 import Environment

_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }}</title>
<link rel="stylesheet" href="page.css"><link rel="icon" href="icon.svg">
</head>
<body class="docs">
<header><a class="name" href="./">heedful</a>
<nav><a href="./">Translate</a><a href="openapi.json">openapi.json</a></nav></header>
<main>
<h1>{{ info.title }}</h1>
{% for paragraph in info.description.split("\\n\\n") %}<p>{{ paragraph }}</p>{% endfor %}
{% for tag in tags %}
<h2>{{ tag.name }}</h2>
<p>{{ tag.description }}</p>
{% for path, method, one in operations if tag.name in one.tags %}
<section id="{{ one.operationId }}">
<h3><span class="method">{{ method }}</span> <code>{{ path }}</code></h3>
<p>{{ one.summary }}</p>
{% if one.fields %}
<table><thead><tr><th>field</th><th>type</th><th>what it is</th></tr></thead><tbody>
{% for name, field in one.fields.items() %}
<tr><td><code>{{ name }}</code></td><td>{{ field.shown }}</td><td>{{ field.description }}</td></tr>
{% endfor %}
</tbody></table>
{% endif %}
{% if one.example %}<pre><code>{{ one.example }}</code></pre>{% endif %}
</section>
{% endfor %}
{% endfor %}
</main>
</body>
</html>
"""


def api_page(description: dict[str, Any], *, address: str) -> str:
    """The page of an OpenAPI description; ``address``: where the page was asked for, and its calls are answered."""
    operations = [
        (path, method.upper(), _shown(path, method, one, address.rstrip("/")))
        for path, methods in description["paths"].items()
        for method, one in methods.items()
    ]
    template = Environment(autoescape=True, trim_blocks=True).from_string(_TEMPLATE)
    return template.render(info=description["info"], tags=description["tags"], operations=operations)


def _shown(path: str, method: str, operation: dict[str, Any], address: str) -> dict[str, Any]:
    content = next(iter(operation.get("requestBody", {}).get("content", {}).values()), {})
    fields = {one["name"]: {**one["schema"], **one} for one in operation.get("parameters", [])}
    fields |= content.get("schema", {}).get("properties", {})
    required = content.get("schema", {}).get("required", [])
    for name, field in fields.items():
        kinds = [one.get("type", "") for one in field.get("oneOf", [field])]
        is_needed = name in required or field.get("required") is True
        field["shown"] = " or ".join(kinds) + ("" if is_needed else ", optional")
    example = content.get("example")
    call = f"curl -X {method.upper()} {shlex.quote(address + path)}"
    if "file" in fields:
        call += "".join(
            f" -F {name}={value}" for name, value in (("file", "@letter.docx"), ("source", "en"), ("target", "de"))
        )
    if example is not None:
        call += f" -H 'Content-Type: application/json' \\\n  -d '{json.dumps(example, ensure_ascii=False)}'"
    return {**operation, "fields": fields, "example": call}
