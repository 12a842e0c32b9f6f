"""The tests' side: sends requests to the candidate, and answers its calls back."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from muster_boundary.exchange import answer_message, write_args
from muster_boundary.line import Line, LineClosed, Message, TooLarge
from muster_boundary.plain import NAMED, NotPlain, Reader, Value, Writer
from muster_boundary.remote import Remote, RemoteModule, find_number, make_class

_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
# Exceptions that would end the tests, or an iterator of theirs, in place of failing one test.
_NOT_RAISED = (KeyboardInterrupt, GeneratorExit)


class CandidateGone(Exception):
    """The candidate's process has ended, or has sent an invalid answer."""


@dataclass(frozen=True)
class _Reference:
    """Stands for an object of the candidate that is not passed to the tests."""

    number: int


class Asker:
    """The connection of the tests to the candidate."""

    def __init__(self, line: Line, classes: list[str]) -> None:
        self._line = line
        self._classes = classes
        self._remotes: dict[int, Any] = {}
        self._ours: list[Any] = []
        self._numbers: dict[int, int] = {}

    def ask(self, what: str, *args: Any) -> Any:
        """Has the candidate carry out a request, and returns its result. Raises what it raised, NotPlain, and CandidateGone."""
        writer = Writer(self._refer)
        request = {"do": what, "args": writer.write(args), "table": writer.table()}
        try:
            self._line.send(request)
            while "back" in (message := self._line.receive()):
                self._line.send(self._call_back(message))
        except TooLarge as error:
            raise NotPlain(str(error)) from None
        except LineClosed as error:
            raise CandidateGone(f"the candidate's process is gone: {error}") from None
        failure = None
        try:
            reader = Reader(self._resolve, message["table"], writer.objects)
            reader.change(message["changes"])
            if "raised" not in message:
                return reader.read(message["value"])
            failure = self._rebuild_error(message["raised"], reader)
        except _MALFORMED as error:
            raise CandidateGone(f"the candidate's process sent an invalid answer: {error!r}") from None
        raise failure

    def _call_back(self, message: Message) -> Message:
        def act(reader: Reader) -> Any:
            ours, args = self._ours[message["back"]], reader.read(message["args"])
            return next(ours) if args is None else ours(*args, **reader.read(message["kwargs"]))

        return answer_message(message, self._refer, self._resolve, act, self._describe_error)

    def _refer(self, value: Any) -> Value:
        number = value.number if type(value) is _Reference else find_number(value)
        if number is not None:
            return {"object": number}
        if isinstance(value, BaseException):
            return {"raised": {"kind": _find_builtin_kind(value), "text": str(value), "number": self._keep(value)}}
        kind = value if isinstance(value, type) else type(value)
        if not isinstance(value, (type, io.IOBase)) and (callable(value) or isinstance(value, Iterator)):
            name = str(getattr(value, "__name__", kind.__qualname__))
            return {"theirs": self._keep(value), "iterates": not callable(value), "named": name}
        what = f"the class {kind.__qualname__}" if kind is value else f"a {kind.__module__}.{kind.__qualname__}"
        raise NotPlain(f"{what} of the tests cannot pass to the candidate; pass numbers, texts, lists, dicts, functions or iterators")

    def _keep(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._ours)
            self._ours.append(value)
        return number

    def _describe_error(self, error: BaseException, writer: Writer) -> dict[str, Any]:
        """Describes an exception that a function of the tests raised, so that the candidate can catch it."""
        number = find_number(error)
        if number is not None:
            return {"object": number}
        return {"kind": _find_builtin_kind(error), "args": write_args(error, writer), "number": self._keep(error)}

    def _resolve(self, written: dict[str, Any]) -> Any:
        if "theirs" in written:
            return self._ours[written["theirs"]]
        number = written["object"]
        if number not in self._remotes:
            made = self._make_stand_in(number, written["is"])
            if made is None:
                return self.ask("base", _Reference(number), written["is"]["base"])
            self._remotes[number] = made
        return self._remotes[number]

    def _make_stand_in(self, number: int, described: dict[str, Any]) -> Any:
        """Builds what stands in for an object that the tests see for the first time. Returns None for an object that arrives as the plain
        data on which it is based.
        """
        what = described["kind"]
        if what == "module":
            return RemoteModule(str(described["name"]), number, self)
        if what == "class":
            return self._make_class(number, described)
        kind = self._resolve(described["class"])
        if what not in ("function", "iterator", "context", "exception") and not self._is_declared(kind):
            if "base" in described:
                return None
            raise NotPlain(
                f'the candidate gave a {kind.muster_name}, which is no plain data; list it in "classes" if the tests use such objects'
            )
        made = BaseException.__new__(kind) if issubclass(kind, BaseException) else object.__new__(kind)
        vars(made)["muster_number"] = number
        if "base" in described:
            vars(made)["muster_base"] = self.ask("base", made, described["base"])
        return made

    def _make_class(self, number: int, described: dict[str, Any]) -> type:
        module, name = str(described["module"]), str(described["name"])
        known = getattr(sys.modules.get(module), name, None) if module.split(".")[0] in sys.stdlib_module_names else None
        if isinstance(known, type) and issubclass(known, Exception):
            return known
        bases = [NAMED[base["name"]] if "name" in base else self._resolve(base) for base in described["bases"]]
        return make_class(number, described, bases, self)

    def _is_declared(self, kind: type) -> bool:
        return any(
            _is_named(each, path) for each in kind.__mro__ if issubclass(each, Remote) and each is not Remote for path in self._classes
        )

    def _rebuild_error(self, raised: dict[str, Any], reader: Reader) -> BaseException:
        """Rebuilds the candidate's exception, so that the tests can catch it."""
        if "theirs" in raised:
            ours = self._ours[raised["theirs"]]
            return ours if isinstance(ours, BaseException) else CandidateGone("the candidate's process raised no exception, but a value")
        if "refusal" in raised:
            return NotPlain(str(raised["refusal"]))
        kind, text = reader.read(raised["kind"]), str(raised["text"])
        if not (isinstance(kind, type) and issubclass(kind, BaseException)) or issubclass(kind, _NOT_RAISED):
            return RuntimeError(f"the candidate raised {getattr(kind, '__name__', kind)}: {text}")
        error = self._resolve(raised["object"]) if issubclass(kind, Remote) else _create(kind, reader.read(raised["args"]))
        if issubclass(kind, Remote):
            vars(error)["muster_text"] = text
        if hasattr(error, "add_note"):
            error.add_note(f"in the candidate: {raised['trace']}")
        return error


def _create(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


def _find_builtin_kind(error: BaseException) -> str:
    return next(str(kind.__name__) for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)


def _is_named(kind: type, path: str) -> bool:
    """Returns whether a class is the declared one, named by its module or by a package that contains the module."""
    module, _, name = path.rpartition(".")
    return kind.__qualname__ == name and (kind.__module__ == module or kind.__module__.startswith(f"{module}."))
