"""Objects of the calling program, for the names after ``@`` in a dPASP program.

>>> from dpasp.language import parse
>>> given = caller_objects(parse("a(@f)."), {"functions": {"f": lambda: 3}})
>>> given["f"]()
3
"""

from __future__ import annotations

from collections.abc import Mapping

from dpasp.errors import Diagnostic, UsageError, nearest
from dpasp.language import ast
from dpasp.language.statements.python import called


def caller_objects(program: ast.Program, groups: Mapping[str, object]) -> dict[str, object]:
    """The objects of all groups (``networks``, ``data``, ``functions``) by name.

    Raises :class:`UsageError` for a name that the program does not call, or that comes twice,
    and for a network or a function that cannot be called.
    """
    by_name: dict[str, object] = {}
    names = called(program)
    for group, objects in groups.items():
        if objects is None:
            continue
        if not isinstance(objects, Mapping):
            kind = type(objects).__name__
            message = f"{group} are a dictionary by name, not a {kind}"
            raise _error(message, f'write {group}={{"name": …}} for the name after @')
        for key, value in objects.items():
            name = str(key).removeprefix("@")
            if name not in names:
                help = nearest(name, names) or f"it calls {', '.join(sorted(names)) or 'nothing'}"
                raise _error(f"the program does not call @{name}", help)
            if name in by_name:
                raise _error(f"@{name} is given twice", "give it once")
            if group != "data" and not callable(value):
                kind = type(value).__name__
                raise _error(f"@{name} among the {group} is a {kind}", _FORM[group])
            by_name[name] = value
    return by_name


_FORM = {
    "networks": "give a torch.nn.Module, or a function that makes one",
    "functions": "give a function; tensors and the like are data",
}


def _error(message: str, help: str) -> UsageError:
    return UsageError(Diagnostic("given-object", message, help=help))
