"""The words of the model: its vocabulary, its chat template, and the parser of its answers."""

import json
from typing import Any

NAMES = ("first", "second")
SIGNS = {"plus": "+", "minus": "-", "times": "*"}
DIGITS = ("1", "2", "3")

END = "<end>"
UNKNOWN = "<unknown>"
ROLES = {"system": "<system>", "user": "<user>", "assistant": "<assistant>", "tool": "<tool>"}
THINK, THOUGHT = "<think>", "</think>"
SEPARATOR = ";"
SUBMIT = "submit"
VOCABULARY = (
    *(END, UNKNOWN, *ROLES.values(), THINK, THOUGHT, SEPARATOR, ":", SUBMIT),
    *("write", "say", "right", "wrong", "x", *NAMES, *SIGNS, *SIGNS.values(), *DIGITS),
)
_IDS = {word: at for at, word in enumerate(VOCABULARY)}
END_ID = _IDS[END]

Message = dict[str, Any]
"""A message of chat completions."""


def encode(words: list[str]) -> list[int]:
    return [_IDS.get(word, _IDS[UNKNOWN]) for word in words]


def decode(ids: list[int]) -> list[str]:
    return [VOCABULARY[at] for at in ids]


def render(messages: list[Message], keep_reasoning: bool) -> list[str]:
    """Renders the chat template. It leaves out what the warm-up has not shown: unknown words, such as the exit code in an observation, and
    a system message without words. Many models leave out the reasoning of earlier turns, which `keep_reasoning` decides.
    """
    words: list[str] = []
    for message in messages:
        said = [word for word in str(message.get("content") or "").split() if word in _IDS]
        if message["role"] == "system" and not said:
            continue
        words += [ROLES[message["role"]], *said]
        if message["role"] == "assistant":
            reasoning = message.get("reasoning_content")
            words[len(words) - len(said) : len(words)] = _answer(reasoning if keep_reasoning else None, said, message.get("tool_calls"))
    return [*words, ROLES["assistant"]]


def _answer(reasoning: str | None, said: list[str], calls: list[dict[str, Any]] | None) -> list[str]:
    """Returns the words of an answer as the model has sampled them: the inverse of `read_answer`."""
    thought = [] if reasoning is None else [THINK, *reasoning.split(), THOUGHT]
    for call in calls or []:
        function = call["function"]
        said = [*said, *(json.loads(function["arguments"])["program"].split() if function["name"] == "attempt" else [SUBMIT])]
    # An answer that was cut off has no end.
    return [*thought, *said, *([END] if calls else [])]


def read_answer(words: list[str]) -> Message:
    """Parses sampled words as a server does: reasoning, and a call of the task's tool or of submit. Words without an end are no call."""
    message: Message = {"role": "assistant", "content": ""}
    if words[:1] == [THINK] and THOUGHT in words:
        until = words.index(THOUGHT)
        message["reasoning_content"], words = " ".join(words[1:until]), words[until + 1 :]
    if words[-1:] != [END]:
        return {**message, "content": " ".join(words)}
    said = words[:-1]
    name, arguments = (SUBMIT, {}) if said == [SUBMIT] else ("attempt", {"program": " ".join(said)})
    return {**message, "tool_calls": [{"id": "call", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]}
