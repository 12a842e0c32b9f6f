"""The candidate's side: imports its modules, and carries out the tests' requests on its objects."""

from __future__ import annotations

import builtins
import importlib
import threading
import traceback
import types
from typing import Any

from muster_boundary.exchange import answer_message, write_args
from muster_boundary.handles import Handles
from muster_boundary.line import Line, Message, TooLarge
from muster_boundary.plain import NotPlain, Reader, Value, Writer

_TRACEBACK_CHARACTERS = 8192


class Theirs:
    """A function or an iterator of the tests, by the number that the tests gave it."""

    def __init__(self, candidate: Candidate, number: int, name: str) -> None:
        self._candidate = candidate
        self.muster_number = number
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<{self.__name__} of the tests>"


class _Function(Theirs):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._candidate.call_back(self.muster_number, args, kwargs)


class _Iterator(Theirs):
    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        return self._candidate.call_back(self.muster_number, None, {})


class Candidate:
    """Answers requests, one after the other; while one is answered, the candidate may call back."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._handles = Handles()
        self._thread = threading.get_ident()
        self._theirs: dict[int, Theirs] = {}
        self._replaced: dict[tuple[int, str], Any] = {}

    def serve(self) -> None:
        """Answers requests until the tests have ended. Raises LineClosed then."""
        while True:
            self._answer(self._line.receive())

    def call_back(self, number: int, args: tuple[Any, ...] | None, kwargs: dict[str, Any]) -> Any:
        """Has the tests call one of their functions, or get the next value of one of their iterators (args is None)."""
        if threading.get_ident() != self._thread:
            raise NotPlain("a function of the tests was called in another thread than the one for which the tests wait")
        writer = Writer(self._refer)
        self._line.send({"back": number, "args": writer.write(args), "kwargs": writer.write(kwargs), "table": writer.table()})
        while True:
            message = self._line.receive()
            if "do" in message:
                self._answer(message)
                continue
            reader = Reader(self._resolve, message["table"], writer.objects)
            reader.change(message["changes"])
            if "raised" in message:
                raise self._read_exception(message["raised"], reader)
            return reader.read(message["value"])

    def _answer(self, message: Message) -> None:
        answer = answer_message(
            message,
            self._refer,
            self._resolve,
            lambda reader: self._carry_out(message["do"], reader.read(message["args"])),
            self._describe_failure,
        )
        try:
            self._line.send(answer)
        except TooLarge as error:
            writer = Writer(self._refer)
            self._line.send({"raised": self._describe_failure(NotPlain(str(error)), writer), "table": writer.table(), "changes": {}})

    def _carry_out(self, what: str, args: tuple[Any, ...]) -> Any:
        target, *rest = args
        if what == "import":
            return importlib.import_module(target)
        if what == "get":
            return _read_attribute(target, rest[0])
        if what == "set":
            self._remember(target, rest[0])
            return setattr(target, *rest)
        if what == "delete":
            return self._delete(target, rest[0])
        if what == "names":
            return sorted(map(str, dir(target)))
        if what == "base":
            return getattr(builtins, rest[0])(target)
        if what == "call":
            return target(*rest[0], **rest[1])
        if what == "exit":
            (error,) = rest
            return type(target).__exit__(target, *((None, None, None) if error is None else (type(error), error, error.__traceback__)))
        return getattr(type(target), what)(target, *rest)

    def _remember(self, target: Any, name: str) -> None:
        """Notes the value that the tests are about to replace. They restore it by deleting their own."""
        held = getattr(target, "__dict__", {})
        if name in held:
            self._replaced.setdefault((id(target), name), held[name])

    def _delete(self, target: Any, name: str) -> None:
        if (id(target), name) in self._replaced:
            setattr(target, name, self._replaced.pop((id(target), name)))
        else:
            delattr(target, name)

    def _refer(self, value: Any) -> Value:
        return {"theirs": value.muster_number} if isinstance(value, Theirs) else self._handles.refer(value)

    def _resolve(self, written: dict[str, Any]) -> Any:
        if "object" in written:
            return self._handles.object(written["object"])
        if "raised" in written:
            return self._read_exception(written["raised"], None)
        number = written["theirs"]
        if number not in self._theirs:
            self._theirs[number] = (_Iterator if written["iterates"] else _Function)(self, number, written["named"])
        return self._theirs[number]

    def _read_exception(self, raised: dict[str, Any], reader: Reader | None) -> BaseException:
        """Returns an exception of the tests in a form that the candidate can catch."""
        if "object" in raised:
            own = self._handles.object(raised["object"])
            return own if isinstance(own, BaseException) else RuntimeError("a failure in the tests")
        kind = getattr(builtins, raised["kind"])
        args = (raised["text"],) if reader is None else reader.read(raised["args"])
        error: BaseException = kind.__new__(kind, *args)
        error.args = args
        error.muster_number = raised["number"]  # type: ignore[attr-defined]
        return error

    def _describe_failure(self, error: BaseException, writer: Writer) -> dict[str, Any]:
        number = vars(error).get("muster_number")
        if isinstance(number, int):
            return {"theirs": number}
        if type(error) is NotPlain:
            return {"refusal": str(error)}
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-_TRACEBACK_CHARACTERS:]
        return {
            "kind": writer.write(type(error)),
            "object": self._handles.refer(error),
            "args": write_args(error, writer),
            "text": str(error),
            "trace": text,
        }


def _read_attribute(target: Any, name: str) -> Any:
    if name == "__all__" and isinstance(target, types.ModuleType) and not hasattr(target, name):
        return [each for each in vars(target) if not each.startswith("_")]
    return getattr(target, name)
