"""Who may ask, and how much: API keys, known by their hashes alone.

What was used is counted since the server was started, by day and by minute, and kept nowhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import time
import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from heedful.errors import ServeError
from heedful.files import read_small, reason
from heedful.serve.fields import Fields
from heedful.typed import typed

UNLIMITED = 1_000_000_000_000
"""What programs that ask for a limit are told where there is none."""
_DAY = 86_400


@dataclass(frozen=True)
class Key:
    """One key as the file describes it."""

    name: str
    """For logs; nobody can do anything with it."""
    sha256: str
    requests_per_minute: int = 0
    """0: as many as there are."""
    characters_per_day: int = 0


@dataclass
class Holder:
    """Somebody who may ask, and what they have used."""

    key: Key
    requests: deque[float] = field(default_factory=deque)
    day: int = -1
    characters: int = 0

    def use(self, characters: int, *, quota_status: int) -> None:
        """Count a request; raises where it is one too many."""
        now, today = time.monotonic(), int(time.time()) // _DAY
        while self.requests and self.requests[0] < now - 60:
            self.requests.popleft()
        if self.key.requests_per_minute and len(self.requests) >= self.key.requests_per_minute:
            seconds = max(1, int(self.requests[0] + 60 - now))
            raise ServeError("too many requests within a minute with this key", status=429, retry_after=seconds)
        if today != self.day:
            self.day, self.characters = today, 0
        if self.key.characters_per_day and self.characters + characters > self.key.characters_per_day:
            raise ServeError("the characters of this key for today are used up", status=quota_status)
        if self.key.requests_per_minute:
            self.requests.append(now)
        self.characters += characters

    def give_back(self, characters: int) -> None:
        """Count them no more: nothing was done for them."""
        self.characters = max(0, self.characters - characters)


class Keys:
    """The keys of a server; without any, everybody may ask."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._holders = [Holder(key) for key in keys]
        self._everybody = Holder(Key("", ""))

    @property
    def all(self) -> list[Key]:
        return [holder.key for holder in self._holders]

    @property
    def required(self) -> bool:
        return bool(self._holders)

    def holder(self, request: Request, fields: Fields) -> Holder:
        """Who asks; raises where they may not."""
        if not self._holders:
            return self._everybody
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() not in ("deepl-auth-key", "bearer"):
            given = fields.text("api_key") or fields.text("auth_key") or ""
        hashed = hashlib.sha256(given.strip().encode("utf-8", "replace")).hexdigest()
        found = [holder for holder in self._holders if hmac.compare_digest(holder.key.sha256, hashed)]
        if not found:
            needed = "an API key is needed: give it as api_key, or as the header Authorization: Bearer KEY"
            raise ServeError("this server needs an API key that it knows" if given else needed, status=403)
        request.state.key = found[0].key.name
        return found[0]


def read_keys(path: Path) -> Keys:
    """The keys of a TOML file, a table ``[[key]]`` for each."""
    try:
        value = tomllib.loads(read_small(path).decode("utf-8"))
        if value.keys() != {"key"} or not isinstance(value["key"], list) or not value["key"]:
            raise ValueError("it must hold tables [[key]] and nothing else")
        known = {item.name for item in dataclasses.fields(Key)}
        if unknown := {name for one in value["key"] for name in one} - known:
            raise ValueError(f"{min(unknown)} is not known: a key has {', '.join(sorted(known))}")
        keys = [typed(Key, one) for one in value["key"]]
    except OSError as error:
        raise ServeError(f"--keys {path} cannot be read: {reason(error)}") from None
    except ValueError as error:
        raise ServeError(f"--keys {path}: {error}") from None
    for key in keys:
        if len(key.sha256) != 64 or set(key.sha256) - set("0123456789abcdef"):
            advice = "must be 64 digits, 0-9 and a-f: printf %s KEY | sha256sum"
            raise ServeError(f"--keys {path}: the sha256 of {key.name} {advice}")
        if min(key.requests_per_minute, key.characters_per_day) < 0:
            raise ServeError(f"--keys {path}: the limits of {key.name} must be 0, for none, or more")
    return Keys(keys)
