"""C++ sources for tests, parsed by tree-sitter: functions with their calls, streams and pragmas, and constants."""

from __future__ import annotations

import functools
import itertools
import math
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from fgnas.tools.find import find_compiler


@dataclass(frozen=True)
class Call:
    """A call: the function's name (CLASS::NAME for a static one), its template arguments and its arguments."""

    name: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Pragma:
    """An HLS pragma: its name and its options by name; an option without a value has ""."""

    name: str
    options: dict[str, str]


@dataclass(frozen=True)
class Function:
    """A function.

    Attributes:
        name: CLASS::NAME with the template arguments of a specialisation, such as Keep<L, true>::run.
        parameters: names of its template parameters, or of its class's.
        arguments: names of its arguments; "" for one without a name.
        body: the node of its body.
    """

    name: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    body: Node

    @property
    def constant(self) -> bool:
        """If it is constexpr."""
        definition = self.body.parent
        return definition is not None and "constexpr" in text(definition).partition("{")[0].split()

    @property
    def pragmas(self) -> list[Pragma]:
        """The pragmas directly in the body."""
        return [pragma_of(node) for node in self.body.named_children if node.type == "preproc_call"]

    @property
    def streams(self) -> list[str]:
        """The streams that the body declares, in order."""
        declared = []
        for node in self.body.named_children:
            if node.type == "declaration" and text(node).startswith("Stream<"):
                declarators = node.children_by_field_name("declarator")
                declared += [text(one.child_by_field_name("declarator") or one) for one in declarators]
        return declared

    @property
    def calls(self) -> list[Call]:
        """The calls that are statements of the body, in order."""
        calls = []
        for node in self.body.named_children:
            if node.type == "expression_statement" and node.named_children[0].type == "call_expression":
                calls.append(call_of(node.named_children[0]))
        return calls


PRAGMAS = "pragmas.h"


def expanded(sources: dict[str, str]) -> dict[str, str]:
    """The sources of a project as the compiler sees them: the macros of pragmas.h replaced by their pragmas."""
    return {name: _expanded(source, sources[PRAGMAS]) for name, source in sources.items() if name != PRAGMAS}


@functools.cache
def _expanded(source: str, pragmas: str) -> str:
    own = re.sub(r"^#(include|pragma once).*$", "", f"{pragmas}\n{source}", flags=re.MULTILINE)
    command = [find_compiler(), "-E", "-P", "-x", "c++", "-"]
    return subprocess.run(command, input=own, capture_output=True, text=True, check=True).stdout


def text(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode()


@functools.cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


def parse(source: str) -> Node:
    """The tree of a source; raises ValueError where it is not C++."""
    root = _parser().parse(source.encode()).root_node
    if root.has_error:
        raise ValueError("the source does not parse")
    return root


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in order."""
    yield node
    for child in node.named_children:
        yield from walk(child)


def functions(source: str) -> dict[str, Function]:
    """The functions of a source by name."""
    found = {}
    for node in walk(parse(source)):
        if node.type != "function_definition":
            continue
        declarator = node.child_by_field_name("declarator")
        while declarator.type != "function_declarator":
            declarator = declarator.named_children[-1]
        owner, parameters = "", ()
        parent = node.parent
        while parent is not None:
            if parent.type in ("struct_specifier", "class_specifier"):
                owner = text(parent.child_by_field_name("name")) + "::"
            if parent.type == "template_declaration":
                parameters = _template_parameters(parent)
            parent = parent.parent
        name = owner + text(declarator.child_by_field_name("declarator"))
        arguments = tuple(
            _identifier(one.child_by_field_name("declarator"))
            for one in declarator.child_by_field_name("parameters").named_children
            if one.type == "parameter_declaration"
        )
        found[name] = Function(name, parameters, arguments, node.child_by_field_name("body"))
    return found


def _template_parameters(template: Node) -> tuple[str, ...]:
    listed = template.child_by_field_name("parameters").named_children
    return tuple(text(next(node for node in walk(one) if node.type.endswith("identifier"))) for one in listed)


def _identifier(declarator: Node | None) -> str:
    """The name in a declarator; "" for an argument without one."""
    names = [text(node) for node in walk(declarator) if node.type == "identifier"] if declarator else []
    return names[0] if names else ""


def call_of(node: Node) -> Call:
    """The call of a call_expression."""
    called = node.child_by_field_name("function")
    arguments = tuple(text(one) for one in node.child_by_field_name("arguments").named_children)
    inner = called
    if called.type == "qualified_identifier":
        inner = called.child_by_field_name("scope")
    given = next((one for one in inner.named_children if one.type == "template_argument_list"), None)
    parameters = tuple(text(one) for one in given.named_children) if given else ()
    return Call(text(called).replace(text(given), "") if given else text(called), parameters, arguments)


def pragma_of(node: Node) -> Pragma:
    """The pragma of a preproc_call."""
    _, name, *options = text(node).removeprefix("#pragma").split()
    pairs = (option.partition("=") for option in options)
    return Pragma(name, {key: value for key, _, value in pairs})


def constants(source: str) -> dict[str, int]:
    """The integer constants of a source by [CLASS::]NAME; each is a product of numbers and earlier constants."""
    found: dict[str, int] = {}
    for node in walk(parse(source)):
        if node.type not in ("declaration", "field_declaration") or "constexpr int" not in text(node):
            continue
        scope = ""
        parent = node.parent
        while parent is not None:
            if parent.type == "struct_specifier":
                scope = text(parent.child_by_field_name("name")) + "::"
            parent = parent.parent
        for name, value in _initialised(node):
            factors = [factor.strip() for factor in value.split("*")]
            numbers = [int(f) if f.isdigit() else found.get(scope + f, found.get(f)) for f in factors]
            if None not in numbers:
                found[scope + name] = math.prod(numbers)
    return found


def _initialised(node: Node) -> list[tuple[str, str]]:
    """Names and values of a declaration: a field has its value beside its name, a variable in a declarator."""
    if node.type == "declaration":
        pairs = [
            (one.child_by_field_name("declarator"), one.child_by_field_name("value"))
            for one in node.named_children if one.type == "init_declarator"
        ]  # fmt: skip
    else:
        names, values = node.children_by_field_name("declarator"), node.children_by_field_name("default_value")
        pairs = list(zip(names, values, strict=False))
    return [(text(name), text(value)) for name, value in pairs]


@dataclass(frozen=True)
class Loop:
    """A for, while or do loop, with the pragmas before its first statement."""

    node: Node
    pragmas: tuple[Pragma, ...]

    def pragma(self, name: str) -> Pragma | None:
        """The loop's own pragma of that name."""
        return next((pragma for pragma in self.pragmas if pragma.name == name), None)

    @property
    def condition(self) -> str:
        """The source of the condition."""
        return text(self.node.child_by_field_name("condition"))


LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


def loops(node: Node) -> list[Loop]:
    """Every loop below a node, outer loops first."""
    found = []
    for one in walk(node):
        if one.type in LOOPS and one != node:
            inner = one.child_by_field_name("body").named_children
            code = (child for child in inner if child.type != "comment")
            own = itertools.takewhile(lambda child: child.type == "preproc_call", code)
            found.append(Loop(one, tuple(map(pragma_of, own))))
    return found


def arrays(body: Node) -> dict[str, tuple[str, ...]]:
    """The arrays that are declared anywhere in a body, by name, each with the source of its sizes."""
    found = {}
    for node in walk(body):
        if node.type != "declaration":
            continue
        for declarator in node.children_by_field_name("declarator"):
            one = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            sizes: list[str] = []
            while one is not None and one.type == "array_declarator":
                sizes.insert(0, text(one.child_by_field_name("size")))
                one = one.child_by_field_name("declarator")
            if sizes:
                found[text(one)] = tuple(sizes)
    return found


def array_type(body: Node, name: str) -> str:
    """The type that an array in a body is declared with, storage class included."""
    for node in walk(body):
        if node.type == "declaration" and name in arrays(node.parent) and re.search(rf"\b{name}\[", text(node)):
            return text(node)[: text(node).index(f"{name}[")].strip()
    raise KeyError(name)


class Constants:
    """Compile-time constants of a function: literals, constexpr names, template parameters, local constants."""

    def __init__(self, function: Function, names: set[str]) -> None:
        self.parameters = set(function.parameters)
        self.names = names | self.parameters
        for node in walk(function.body):
            if node.type == "declaration" and text(node).startswith("const int "):
                self.names |= {
                    text(one.child_by_field_name("declarator"))
                    for one in node.named_children
                    if one.type == "init_declarator" and self.cover(one.child_by_field_name("value"))
                }

    def cover(self, expression: Node) -> bool:
        """Whether an expression is constant."""
        if expression.type == "qualified_identifier":
            return text(expression.child_by_field_name("scope")) in self.parameters
        if expression.type == "identifier":
            return text(expression) in self.names
        return all(self.cover(child) for child in expression.named_children)

    def bound(self, loop: Loop) -> bool:
        """Whether a loop counts from one constant to another."""
        if loop.node.type != "for_statement":
            return False
        condition = loop.node.child_by_field_name("condition")
        starts = [
            node.child_by_field_name("value")
            for node in loop.node.child_by_field_name("initializer").named_children if node.type == "init_declarator"
        ]  # fmt: skip
        return condition.type == "binary_expression" and all(
            map(self.cover, [*starts, condition.child_by_field_name("right")])
        )


def constant_names(source: str) -> set[str]:
    """The names that a source declares constexpr outside of structs: numbers and functions."""
    found = set()
    for node in parse(source).named_children:
        if node.type in ("declaration", "function_definition") and text(node).startswith("constexpr"):
            found |= {_identifier(one) for one in node.children_by_field_name("declarator")}
    return found
