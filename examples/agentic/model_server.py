"""Serves chat completions with the ids and log-probabilities of tokens, as vLLM does, for a model that is being trained."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import numpy as np

from examples.agentic.transformer import Cache, Transformer
from examples.agentic.words import END_ID, decode, encode, read_answer, render

MODEL = "policy"
"""The name of the newest version. `policy@3` names a fixed one."""
LONGEST_ANSWER = 16


@dataclass
class Versions:
    """The weights by version. A published model is never changed again."""

    published: dict[int, Transformer] = field(default_factory=dict)
    turn: threading.RLock = field(default_factory=threading.RLock)
    """Serialises the trainer and the requests, which are threads."""

    def publish(self, version: int, model: Transformer) -> None:
        with self.turn:
            self.published[version] = model.copy()

    def find(self, name: str) -> tuple[int, Transformer]:
        """Returns the version and the weights of a name. Raises KeyError and ValueError."""
        with self.turn:
            version = max(self.published) if name == MODEL else int(name.removeprefix(f"{MODEL}@"))
            return version, self.published[version]


def sample(model: Transformer, prompt: list[int], rng: np.random.Generator) -> tuple[list[int], list[float]]:
    """Samples an answer. @returns its tokens and their log-probabilities."""
    cache, given = Cache(), prompt
    ids: list[int] = []
    log_probabilities: list[float] = []
    while len(ids) < min(LONGEST_ANSWER, len(model.positions) - len(prompt)) and ids[-1:] != [END_ID]:
        scores, _ = model.forward(np.array([given]), cache)
        last = scores[0, -1].astype(np.float64)
        reached = np.cumsum(np.exp(last))
        token = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
        ids.append(token)
        log_probabilities.append(float(last[token]))
        given = [token]
    return ids, log_probabilities


class ModelServer:
    """Listens on a free port of loopback. The `with` block closes it."""

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self._one_at_a_time = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, answer = server.answer(asked)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Logs nothing for each request."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answers a request. @returns the status, and a chat completion. The same request to the same version gets the same answer."""
        try:
            version, model = self.versions.find(asked["model"])
        except (KeyError, ValueError):
            return 404, {"error": {"message": f"there is no model {asked['model']}; expected {MODEL}, or {MODEL}@VERSION"}}
        keeps = asked.get("chat_template_kwargs", {}).get("keep_reasoning", True)
        prompt = encode(render(asked["messages"], keeps))
        if len(prompt) >= len(model.positions):
            return 400, {"error": {"message": f"{len(prompt)} tokens exceed the maximum context length of {len(model.positions)}"}}
        with self._one_at_a_time:
            ids, log_probabilities = sample(model, prompt, np.random.default_rng(asked.get("seed")))
        words = decode(ids)
        choice = {
            "index": 0,
            "message": read_answer(words),
            "finish_reason": "stop" if ids[-1] == END_ID else "length",
            "token_ids": ids,
            "logprobs": {"content": [{"token": word, "logprob": value} for word, value in zip(words, log_probabilities, strict=True)]},
            "meta_info": {"weight_version": str(version)},
        }
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt) + len(ids)}
        return 200, {"object": "chat.completion", "model": asked["model"], "prompt_token_ids": prompt, "choices": [choice], "usage": usage}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
