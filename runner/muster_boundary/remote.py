"""Stands in for the candidate's modules, classes and objects in the tests.

The candidate controls the answers of its objects. So these objects never answer whether they equal a value or are less than it, and an
operator never sends the other operand. Tests compare plain data, which arrives as plain data.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from muster_boundary.dunders import ALONE, BETWEEN, ORDERS, TESTS_OF_VALUES
from muster_boundary.plain import NotPlain


class Asks(Protocol):
    """Sends requests to the candidate."""

    def ask(self, what: str, *args: Any) -> Any:
        """Has the candidate carry out a request, and returns its result. Raises what the candidate raised."""


def find_number(value: Any) -> int | None:
    """Returns the number of an object of the candidate; None for anything else."""
    if isinstance(value, (Remote, RemoteModule)) or (isinstance(value, RemoteType) and value is not Remote):
        return int(vars(value)["muster_number"])
    return None


class RemoteType(type):
    """A class of the candidate. The tests' own classes cannot inherit from it."""

    muster_asks: Asks
    muster_name: str

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> RemoteType:
        if bases and "muster_number" not in namespace:
            raise NotPlain(f"class {name} of the tests inherits from a class of the candidate, which it cannot across the boundary")
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.muster_asks.ask("call", cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("muster_") or cls is Remote:
            raise AttributeError(name)
        return cls.muster_asks.ask("get", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls.muster_asks.ask("set", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        cls.muster_asks.ask("delete", cls, name)

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.muster_asks.ask("__iter__", cls))

    def __len__(cls) -> int:
        return int(cls.muster_asks.ask("__len__", cls))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls.muster_asks.ask("__getitem__", cls, key)

    def __contains__(cls, value: Any) -> bool:
        return any(each is value for each in cls)


class Remote(metaclass=RemoteType):
    """An object of the candidate."""

    muster_asks: Asks
    muster_name = "object"
    muster_compares = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("muster_"):
            raise AttributeError(name)
        if name in TESTS_OF_VALUES:
            raise NotPlain(
                f"{_get_name(self)}.{name} is not asked of an object of the candidate, which could say anything; compare plain data"
            )
        return self.muster_asks.ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith(("__", "muster_")):
            super().__setattr__(name, value)
        else:
            self.muster_asks.ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self.muster_asks.ask("delete", self, name)

    def __dir__(self) -> list[str]:
        names: list[str] = self.muster_asks.ask("names", self)
        return names

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        base = vars(self).get("muster_base", self)
        if base is not self:
            return bool(base == vars(other).get("muster_base", other) if isinstance(other, Remote) else base == other)
        if self.muster_compares or (isinstance(other, Remote) and other.muster_compares):
            raise NotPlain(
                f"{_get_name(self)} is not asked whether it is equal to something, as it could say anything; compare what it holds"
            )
        return False

    def __hash__(self) -> int:
        return hash(vars(self).get("muster_base", id(self)))

    def __contains__(self, value: object) -> bool:
        if not hasattr(type(self), "__iter__"):
            raise NotPlain(f"{_get_name(self)} is not asked whether something is in it, as it could say anything")
        return any(each is value or each == value for each in self)  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotPlain(f"{_get_name(self)} cannot be copied or pickled across the boundary")


class RemoteModule(types.ModuleType):
    """A module of the candidate."""

    def __init__(self, name: str, number: int, asks: Asks) -> None:
        super().__init__(name)
        vars(self).update(muster_number=number, muster_asks=asks)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("muster_") or (name.startswith("__") and name != "__all__" and name != "__version__"):
            raise AttributeError(name)
        return vars(self)["muster_asks"].ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system itself sets submodules, and attributes that begin with underscores.
        if name.startswith("__") or isinstance(value, RemoteModule):
            super().__setattr__(name, value)
        else:
            vars(self)["muster_asks"].ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self)["muster_asks"].ask("delete", self, name)

    def __dir__(self) -> list[str]:
        names: list[str] = vars(self)["muster_asks"].ask("names", self)
        return names


def make_class(number: int, described: dict[str, Any], bases: list[type], asks: Asks) -> type:
    """Builds the class that stands in for a class of the candidate, with the special methods that the tests may call."""
    is_failure = any(issubclass(base, BaseException) for base in bases)
    kept = [base for base in bases if isinstance(base, RemoteType) or issubclass(base, BaseException)]
    own = kept if any(isinstance(base, RemoteType) for base in kept) else [Remote, *kept]
    name = str(described["name"])
    namespace: dict[str, Any] = {
        "muster_number": number,
        "muster_asks": asks,
        "muster_name": f"{described['module']}.{name}",
        "muster_compares": described["compares"] is True,
        "__module__": str(described["module"]),
        "__qualname__": name,
    }
    if is_failure:
        namespace["__str__"] = lambda self: vars(self).get("muster_text", "")
    else:
        methods = [str(each) for each in described["methods"]]
        namespace.update({each: _make_unary(each) for each in methods if each in ALONE})
        namespace.update({each: _make_binary(each) for each in methods if each in BETWEEN})
    namespace.update({each: _order(each) for each in ORDERS})
    return RemoteType(name.rsplit(".", 1)[-1], tuple(own), namespace)


def _get_name(value: Remote) -> str:
    return type(value).muster_name


def _make_unary(name: str) -> Callable[..., Any]:
    if name == "__call__":
        return lambda self, *args, **kwargs: self.muster_asks.ask("call", self, args, kwargs)
    if name == "__exit__":
        return lambda self, _kind, error, _trace: self.muster_asks.ask("exit", self, error)
    return lambda self, *args: self.muster_asks.ask(name, self, *args)


def _make_binary(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Remote, other: Any) -> Any:
        if find_number(other) is None:
            raise NotPlain(
                f"{_get_name(self)}.{name} is not asked with plain data beside it, as it could say anything; have a method do it"
            )
        return self.muster_asks.ask(name, self, other)

    return method


def _order(name: str) -> Callable[[Any, Any], bool]:
    def method(self: Remote, _other: Any) -> bool:
        raise NotPlain(f"{_get_name(self)}.{name} is not asked, as it could say anything; compare what it holds")

    return method
