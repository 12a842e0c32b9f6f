"""A tokenizer with Qwen's chat template, whose model says whole calls of tools with one token each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast
from trl.chat_template_utils import qwen3_chat_template

from tests.real_server import REPOSITORY

TASK = "fix-bug-in-sort-function"
SOLUTION = (REPOSITORY / "examples" / "code" / TASK / "solution" / "sorting.py").read_text()
END = "<|im_end|>"


def written(name: str, arguments: Mapping[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


LOOK = written("run", {"command": "ls"})
SOLVE = written("write_file", {"file": "sorting.py", "content": SOLUTION})
BROKEN = "<tool_call>\n{no JSON\n</tool_call>"
SUBMIT = written("submit", {})
SAYINGS = [LOOK, SOLVE, BROKEN, SUBMIT]


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    base = Tokenizer(WordLevel({"<pad>": 0, "<unk>": 1}, unk_token="<unk>"))
    base.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, pad_token="<pad>", unk_token="<unk>", eos_token=END)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=True) for text in ("<|im_start|>", END)], special_tokens=True)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("\n", *SAYINGS)])
    tokenizer.chat_template = qwen3_chat_template
    return tokenizer


def saved(directory: Path) -> Path:
    tiny_tokenizer().save_pretrained(str(directory))
    return directory
