"""Tokenises a growing conversation: sampled tokens stay as they are, and only new text is tokenised."""

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from muster_client import InvalidArgument

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_SAID = "what-the-assistant-has-said"


class Tokenizer(Protocol):
    """A tokenizer of Transformers that has a chat template."""

    eos_token: str | None

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any: ...

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]: ...


def begin_ids(tokenizer: Tokenizer, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the prompt before the first answer."""
    return tokenizer.encode(_render(tokenizer, messages, tools, prompts=True), add_special_tokens=False)


def answer_ids(tokenizer: Tokenizer, answers: Sequence[str], tools: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the tokens between an answer with tool calls and the next answer: the tools' results.

    Raises InvalidArgument for a template that does not render an assistant's message.
    """
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": _SAID}]
    text = _render(tokenizer, [*messages, *({"role": "tool", "content": answer} for answer in answers)], tools, prompts=True)
    _, found, after = text.partition(_SAID)
    if not found:
        raise InvalidArgument("the chat template leaves out what the assistant has said before a tool answers; use another one")
    # The model samples the token that ends its turn. A template may write a line feed after it, which the model does not sample.
    _, ended, behind = after.partition(tokenizer.eos_token or "\0")
    return tokenizer.encode(behind if ended else after, add_special_tokens=False)


def read_calls(text: str) -> list[tuple[str, str | dict[str, Any]]]:
    """Reads calls in the form of Qwen's and Hermes' templates, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. A call that is not
    JSON becomes a call of no tool, and the model reads why it was refused.
    """
    return [_read_call(written) for written in _CALL.findall(text)]


def _read_call(written: str) -> tuple[str, str | dict[str, Any]]:
    try:
        call = json.loads(written)
    except ValueError:
        return "", written
    if not isinstance(call, dict):
        return "", written
    name, arguments = call.get("name"), call.get("arguments", {})
    return str(name or ""), arguments if isinstance(arguments, dict | str) else json.dumps(arguments)


def _render(tokenizer: Tokenizer, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, prompts: bool) -> str:
    return str(tokenizer.apply_chat_template(list(messages), tools=list(tools), add_generation_prompt=prompts, tokenize=False))
