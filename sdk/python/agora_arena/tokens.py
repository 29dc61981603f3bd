"""The check of task tokens against the arena's published keys."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
import urllib.request
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import jwt

from .config import Config

TASK_TYP = "aap-task+jwt"  # the arena signs no other kind of token with it
ALGORITHMS = ("ES256", "EdDSA", "RS256")  # and then the published key's own alone
KEYS_FRESH = 300.0  # seconds: as long as the arena lets its keys be cached
KEYS_TIMEOUT = 5.0
LOOKS = 4.0  # for unknown kids, one after the other at once
LOOKS_PAUSE = 5.0  # until there may be one more
MAX_KEY_SET = 64 << 10
MAX_TOKEN = 8 << 10

# PyJWT reads the system's clock, and takes claims that a task token has not.
NO_CLAIMS = {name: False for name in ("verify_exp", "verify_iat", "verify_nbf", "verify_aud", "verify_iss", "verify_sub", "verify_jti")}


class Unauthorized(Exception):
    """The token is not one of this arena, for this agent and this body."""


class NoKeys(Exception):
    """The arena's keys could not be read."""


@dataclass(frozen=True)
class Claims:
    """What the arena's token says of a task (AAP, "Authentication", and the arena's additions). The token of a whole match
    has neither round nor body hash. Times are in seconds since 1970."""

    id: str
    """jti, "" when it has none."""
    agent_id: str
    match_id: str
    round: int
    """0: the token serves the whole match."""
    body_hash: str
    """base64url SHA-256 of the request's body; "": the token serves the whole match."""
    issued_at: float
    expires_at: float

    @property
    def of_match(self) -> bool:
        """Whether the token serves a whole match."""
        return self.body_hash == ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        return None


def opener() -> urllib.request.OpenerDirector:
    """Opens URLs and follows no redirect."""
    return urllib.request.build_opener(_NoRedirect)


class Verifier:
    """Checks task tokens against the arena's published keys. It may be used by many threads."""

    def __init__(self, config: Config) -> None:
        self.agent_id = config.agent_id
        self._config = config
        self._keys: Optional[Dict[str, Tuple[str, Any]]] = None
        self._looking = threading.Lock()
        self._looks, self._filled = LOOKS, time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._refresh, name="arena-keys", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the reading of keys."""
        self._ended.set()

    def _refresh(self) -> None:
        """Reads the keys now, so that the first task need not wait for them, and again every five minutes."""
        with self._looking:
            if self._keys is None:
                self._read()
        while not self._ended.wait(KEYS_FRESH):
            with self._looking:
                self._read()

    def _read(self) -> None:
        """Reads the keys once. It needs _looking."""
        try:
            with opener().open(self._config.arena + "/.well-known/jwks.json", timeout=KEYS_TIMEOUT) as response:
                data = response.read(MAX_KEY_SET + 1)
            if len(data) > MAX_KEY_SET:
                raise ValueError("the key set is too large")
            parse: Any = jwt.PyJWK.from_dict  # without types in older versions
            keys = {}
            for jwk in json.loads(data)["keys"]:
                if jwk.get("use", "sig") == "sig" and jwk.get("alg") in ALGORITHMS and isinstance(jwk.get("kid"), str):
                    keys[jwk["kid"]] = (jwk["alg"], parse(jwk, algorithm=jwk["alg"]).key)
            self._keys = keys
        except Exception as error:  # whatever a broken arena sends
            self._config.logger.warning("arena keys not read: %s", error)

    def _take(self) -> bool:
        """Takes one of the looks for an unknown kid, if there is one. It needs _looking."""
        now = time.monotonic()
        self._looks = min(LOOKS, self._looks + (now - self._filled) / LOOKS_PAUSE)
        self._filled = now
        if self._looks < 1:
            return False
        self._looks -= 1
        return True

    def _key(self, kid: str) -> Tuple[str, Any]:
        """The key that a token names, and its algorithm. For an unknown one the arena is asked at once, and at a bounded rate; one asks,
        the others wait and find what it brought."""
        if self._keys is None or kid not in self._keys:
            with self._looking:
                if self._keys is None or (kid not in self._keys and self._take()):
                    self._read()
        if self._keys is None:
            raise NoKeys("the arena's keys could not be read")
        if kid not in self._keys:
            raise Unauthorized("kid is not known")
        return self._keys[kid]

    def verify(self, token: str, body: bytes) -> Claims:
        """Checks everything about a token but its fit to the task. It raises NoKeys or Unauthorized."""
        if len(token) > MAX_TOKEN or not re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", token, re.ASCII):
            raise Unauthorized("not a token")
        try:
            header = jwt.get_unverified_header(token)
            _check_header(header)
            claims = jwt.decode(token, options={"verify_signature": False, **NO_CLAIMS})
            if claims.get("iss") != self._config.issuer:  # before the arena is asked for its key
                raise Unauthorized("iss is not the arena")
            alg, key = self._key(header["kid"])
            claims = jwt.decode(token, key, algorithms=[alg], options=NO_CLAIMS)
        except (jwt.PyJWTError, ValueError) as error:
            raise Unauthorized(str(error)) from error
        return self._check(claims, body)

    def _check(self, c: Dict[str, Any], body: bytes) -> Claims:
        agent, now, leeway = c.get("agent_id"), self._config.now(), self._config.leeway

        def need(holds: bool, otherwise: str) -> None:
            if not holds:
                raise Unauthorized(otherwise)

        def number(name: str) -> bool:
            return isinstance(c.get(name), (int, float)) and not isinstance(c[name], bool)

        need(number("exp") and c["exp"] > now - leeway, "exp is missing or over")
        need(number("iat") and c["iat"] <= now + leeway, "iat is missing or in the future")
        need("nbf" not in c or (number("nbf") and c["nbf"] <= now + leeway), "nbf is in the future")
        need(isinstance(agent, str) and agent != "" and c.get("sub") == agent, "agent_id and sub are not one agent")
        need(c.get("aud") in (agent, [agent]), "aud is not the agent")
        need(self.agent_id != "" or self._config.any_agent, "this agent's id is not known: set agent_id or any_agent")
        need(not self.agent_id or agent == self.agent_id, "the token is for another agent")
        need(c.get("expires_at") == c["exp"], "exp and expires_at differ")
        digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        of_match = "round" not in c and "bh" not in c
        need(of_match or c.get("bh") == digest, "the token is for another body")
        need(isinstance(c.get("match_id"), str) and (of_match or type(c.get("round")) is int), "match_id or round is missing")
        return Claims(str(c.get("jti", "")), str(agent), c["match_id"], c.get("round", 0), c.get("bh", ""), c["iat"], c["exp"])


def _check_header(header: Dict[str, Any]) -> None:
    """Keys that a token brings along are never used, an unsupported demand is a refusal, and a token without a
    kid would be tried with every key."""
    for name in ("jwk", "jku", "x5u", "x5c", "crit", "b64"):
        if name in header:
            raise Unauthorized(f"header {name} is not allowed")
    if header.get("typ") != TASK_TYP:
        raise Unauthorized("another kind of token")
    if not isinstance(header.get("kid"), str) or not header["kid"]:
        raise Unauthorized("no kid")
