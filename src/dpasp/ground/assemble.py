"""From clingo's ground program to weighted choices and rules over numbered atoms.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> program = ground(parse("w(3..4). W/10::a(W) :- w(W)."))
>>> for choice in program.choices:
...     print(program.symbols[choice.heads[0]], choice.weight)
a(3) FixedWeights(probabilities=(0.3,))
a(4) FixedWeights(probabilities=(0.4,))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain, count, product, starmap
from math import exp, inf

from clingo import Control, Function, Number, Observer, Symbol, SymbolType, TruthValue, parse_term

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, UsageError, nearest
from dpasp.ground.encode import (
    EDGE,
    PATH,
    Encoding,
    Instance,
    external_names,
    ground_data,
)
from dpasp.ground.markers import ROWS, RULE, Row, StatementInstance, is_choice_marker, is_hidden
from dpasp.ground.messages import undefined_atom
from dpasp.ground.program import (
    Choice,
    Decided,
    Factor,
    FixedFactor,
    FixedWeights,
    FromNetwork,
    GroundData,
    GroundDecision,
    GroundNetwork,
    GroundTable,
    GroundWeight,
    IntervalWeights,
    Learned,
    Parameter,
    Present,
    Rule,
    Substitution,
    data_atoms,
)
from dpasp.ground.sums import without
from dpasp.ground.terms import Signature, atoms_of, parse_symbol, symbol_number
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.statements.constants import lost_number
from dpasp.language.statements.factors import factor_value
from dpasp.language.statements.plain import another_level
from dpasp.language.statements.weights import (
    Bounded,
    Distribution,
    Known,
    Start,
    are_probabilities,
    distribution,
    known,
    weight_variables,
)
from dpasp.writing import counted


@dataclass(slots=True)
class ChoiceWeights:
    """Weighs the choices and collects the parameters of learnable ones."""

    numbers: Mapping[str, float]
    parameters: list[Parameter] = field(default_factory=list)
    _indices: dict[tuple[int, Substitution], int] = field(default_factory=dict)
    _variables: dict[int, tuple[ast.Variable, ...]] = field(default_factory=dict)
    _known: dict[tuple[int, tuple[Symbol, ...]], Distribution] = field(default_factory=dict)
    _rows: dict[tuple[float, ...], tuple[FixedWeights, bool]] = field(default_factory=dict)
    _logs: dict[tuple[int, tuple[Symbol, ...]], float] = field(default_factory=dict)

    def weigh(
        self, index: int, statement: ast.Annotated, substitution: Substitution
    ) -> tuple[GroundWeight, bool]:
        """The weight of an instance of a statement, and whether it can choose nothing."""
        if statement.row is not None:
            numbers = statement.row.numbers
            row = self._rows.get(numbers)  # rows of tables repeat the same numbers
            if row is None and are_probabilities(numbers):
                found = known(numbers)
                row = self._rows[numbers] = FixedWeights(found.probabilities), found.nothing
            if row is not None:
                return row
        distribution = self._distribution(index, statement, substitution)
        match distribution:
            case Known(probabilities, nothing):
                return FixedWeights(probabilities), nothing
            case Bounded(lower, upper, nothing):
                return IntervalWeights(lower, upper), nothing
            case Start():
                parameter = self._parameter(index, statement, substitution, distribution)
                return Learned(parameter), distribution.nothing

    def factor(
        self, index: int, statement: ast.Factor, substitution: Substitution
    ) -> FixedFactor | Learned:
        """The weight of an instance of a factor without a network."""
        weight = statement.weight
        assert not isinstance(weight, ast.Network)
        needed = tuple(weight_variables(weight))
        symbols = dict(substitution) if needed else {}
        key = index, tuple(symbols[variable.name] for variable in needed)
        if key not in self._logs:
            with _naming(needed, symbols):
                self._logs[key] = factor_value(weight, self._values(needed, symbols))
        log = self._logs[key]
        if isinstance(weight, ast.Fixed):
            return FixedFactor(log)
        start = Start((1.0 / (1.0 + exp(-log)),), (False,), True)
        return Learned(self._parameter(index, statement, substitution, start))

    def _distribution(
        self, index: int, statement: ast.Annotated, substitution: Substitution
    ) -> Distribution:
        needed = self._variables.get(index)
        if needed is None:
            needed = self._variables[index] = tuple(_variables(statement))
        symbols = dict(substitution) if needed else {}
        key = index, tuple(symbols[variable.name] for variable in needed)
        if key not in self._known:
            values = self._values(needed, symbols)
            with _naming(needed, symbols):
                self._known[key] = distribution(statement.heads, values)
        return self._known[key]

    def _values(
        self, needed: tuple[ast.Variable, ...], symbols: Mapping[str, Symbol]
    ) -> dict[str, float]:
        """The values of constants, and of the variables of a weight."""
        values = dict(self.numbers)
        for variable in needed:
            value = symbol_number(symbols[variable.name])
            if value is None:
                raise ProgramError(_not_a_number(variable, symbols[variable.name]))
            values[variable.name] = value
        return values

    def _parameter(
        self,
        index: int,
        statement: ast.Annotated | ast.Factor,
        substitution: Substitution,
        start: Start,
    ) -> int:
        names = parameter_key(statement)
        key = tuple(pair for pair in substitution if pair[0] in names)
        number = self._indices.get((index, key))
        if number is None:
            number = self._indices[index, key] = len(self.parameters)
            parameter = Parameter(index, key, start.initial, start.fixed, start.nothing)
            self.parameters.append(parameter)
            return number
        known = self.parameters[number]
        if (known.initial, known.fixed) != (start.initial, start.fixed):
            raise ProgramError(_uneven(statement))
        return number


@contextmanager
def _naming(needed: tuple[ast.Variable, ...], symbols: Mapping[str, Symbol]) -> Iterator[None]:
    """Add the values of the variables to errors."""
    try:
        yield
    except ProgramError as error:
        names = dict.fromkeys(variable.name for variable in needed)
        assigned = ", ".join(f"{name} = {symbols[name]}" for name in names)
        said = f" (with {assigned})" if assigned else ""
        raise ProgramError(
            replace(d, message=d.message + said) for d in error.diagnostics
        ) from error


def statement_weights(statement: ast.Annotated | ast.Factor) -> list[ast.Weight]:
    """The numbers of a statement: those of its heads, or of a factor without a network."""
    if isinstance(statement, ast.Annotated):
        return [head.weight for head in statement.heads]
    return [] if isinstance(statement.weight, ast.Network) else [statement.weight]


def parameter_key(statement: ast.Annotated | ast.Factor) -> tuple[str, ...]:
    """The variables for each value of which there is a parameter."""
    weights = statement_weights(statement)
    return next((weight.key for weight in weights if isinstance(weight, ast.Learnable)), ())


def _variables(statement: ast.Annotated | ast.Factor) -> Iterator[ast.Variable]:
    for weight in statement_weights(statement):
        yield from weight_variables(weight)


def _not_a_number(variable: ast.Variable, symbol: Symbol) -> Diagnostic:
    lost = lost_number(symbol.string) if symbol.type == SymbolType.String else None
    what = "not a number" if lost is None else lost[0]
    message = f"{variable.name} is {symbol} here, which is {what}"
    help = 'use integers (as in W/10) or strings such as "0.3" where a probability needs them'
    return Diagnostic("probability-number", message, variable.span, help)


def _uneven(statement: ast.Annotated | ast.Factor) -> Diagnostic:
    variables = ",".join(dict.fromkeys(v.name for v in _variables(statement)))
    message = "instances that share a parameter have different probabilities here"
    help = f"give each of them its own parameter, as in ?({variables})::"
    if isinstance(statement, ast.Factor):
        message = "instances that share a parameter start with different factors here"
        help = f"give each of them its own parameter, as in #factor ?({variables}) : …"
    return Diagnostic("parameter-uneven", message, statement_weights(statement)[0].span, help)


_WORD = re.compile(r"(?<![\w\"'])[a-z]\w*(?![\w\"'(])", re.ASCII)
Bodies = Mapping[int, Sequence[tuple[int, ...]]]


class TooLarge(Exception):
    """A program has more ground rules than allowed."""


class GroundRules(Observer):
    """Collects ground rules; ``check`` is called for each, and may raise to stop the grounder.

    Raises :class:`TooLarge` if there are more than ``most`` of them.
    """

    def __init__(self, check: Callable[[], None], most: float = inf) -> None:
        self.rules: list[Rule] = []
        self.externals: dict[int, TruthValue] = {}
        self.open = True
        self._check = check
        self._most = most

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Called by clingo for each rule."""
        self._check()
        if self.open:
            self.rules.append(Rule(tuple(head), tuple(body), choice))
            if len(self.rules) > self._most:
                raise TooLarge

    def weight_rule(
        self,
        choice: bool,
        head: Sequence[int],
        lower_bound: int,
        body: Sequence[tuple[int, int]],
    ) -> None:
        """Called by clingo for each rule with weights in its body."""
        self._check()
        if self.open:
            literals, weights = tuple(zip(*body, strict=True)) if body else ((), ())
            self.rules.append(Rule(tuple(head), literals, choice, weights, lower_bound))

    def external(self, atom: int, value: TruthValue) -> None:
        """Called by clingo for each external atom."""
        self._check()
        self.externals[atom] = value


@dataclass(slots=True)
class Assembly:
    """The parts of a ground program, being put together."""

    atoms: dict[Symbol, int]
    weights: ChoiceWeights
    fresh: Iterator[int]  # unused atoms
    beyond: Iterator[int]  # those of them that are larger than all atoms
    bodies: Bodies  # of the markers
    rules: list[Rule]
    missing: list[tuple[int, str]]  # rows, and atoms of their bodies that no rule derives
    choices: list[Choice] = field(default_factory=list)
    networks: list[GroundNetwork] = field(default_factory=list)
    data: list[GroundData] = field(default_factory=list)
    decisions: list[GroundDecision] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    externals: dict[Symbol, str] = field(default_factory=dict)

    def symbols(self) -> tuple[Symbol | None, ...]:
        """The names of the atoms, by atom."""
        names: list[Symbol | None] = [None] * next(self.beyond)
        for symbol, atom in self.atoms.items():
            names[atom] = symbol
        return tuple(names)


def assemble(
    encoding: Encoding, control: Control, ground: GroundRules, numbers: Mapping[str, float]
) -> Assembly:
    """Put the ground program together from clingo's output."""
    with control.backend() as backend:
        beyond: Iterator[int] = count(backend.add_atom())
    fresh = beyond
    markers = encoding.choices.find(control)
    atoms = _atoms(control)
    rows, missing = _row_rules(encoding.choices.rows, atoms, ground.rules)
    if encoding.choices.rows:
        told = control.symbolic_atoms[Function(ROWS)]
        assert told is not None
        fresh = chain((told.literal,), beyond)  # it has no other use, and numbers have no gaps
        _leave_out_rows(rows, len(encoding.choices.rows), atoms, ground, told.literal)
    rules, bodies, links = _split(ground.rules, {m.atom for m in markers} | _hidden_atoms(control))
    assembly = Assembly(atoms, ChoiceWeights(numbers), fresh, beyond, bodies, rules, missing)
    markers = [marker for marker in markers if marker.atom in bodies]
    instances = encoding.choices.read(markers, rows, links, atoms)
    _add_annotated(assembly, instances, rows, encoding.program)
    _add_decisions(assembly, instances, encoding, control)
    for index in encoding.instances.neural:
        _add_neural(assembly, index, encoding, control)
    for index in encoding.instances.factors:
        _add_factor(assembly, index, encoding, control)
    _add_costs(assembly, encoding, control)
    assembly.data += ground_data(control, encoding.program, assembly.problems)
    if ground.externals or encoding.program.externals:
        _add_externals(assembly, ground.externals, encoding.program)
    if assembly.decisions:
        assembly.problems += _also_by_chance(assembly, encoding.program)
    return assembly


def _atoms(control: Control) -> dict[Symbol, int]:
    """The program's own atoms by name; clingo gives atoms that are never true no number."""
    return {
        symbol: atom
        for signature in starmap(Signature, control.symbolic_atoms.signatures)
        if not is_hidden(signature.name)
        for symbol, atom in atoms_of(control, signature)
        if atom
    }


def _row_rules(
    rows: Mapping[int, Row], atoms: Mapping[Symbol, int], ground: Iterable[Rule]
) -> tuple[dict[int, Rule], list[tuple[int, str]]]:
    """The rule of each row that can hold, and the rows with atoms that no rule derives.

    As in clingo's rules, certain atoms are left out of bodies.
    """
    texts = {text for row in rows.values() for some in row for text in some}
    # A name that is written as clingo writes it need not be parsed: half of the time.
    names = (
        {str(symbol): atom for symbol, atom in atoms.items()}
        if len(atoms) <= 2 * len(texts)
        else {}
    )
    numbers = {text: names.get(text) or atoms.get(parse_term(text), 0) for text in texts}
    certain = {0}
    if any(row.positive or row.negative for row in rows.values()):
        facts = (rule.head for rule in ground if not rule.body and not rule.choice)
        certain.update(head[0] for head in facts if len(head) == 1)
    rules: dict[int, Rule] = {}
    missing: list[tuple[int, str]] = []
    for index, (heads, positive, negative) in rows.items():
        body: tuple[int, ...] = ()
        if positive or negative:
            true = [numbers[text] for text in positive]
            false = [numbers[text] for text in negative]
            if 0 in true or 0 in false:
                missing += [(index, text) for text in (*positive, *negative) if not numbers[text]]
            if 0 in true or not certain.isdisjoint(filter(None, false)):
                continue
            body = (*(b for b in true if b not in certain), *(-b for b in false if b))
        rules[index] = Rule(tuple([numbers[text] for text in heads]), body)
    return rules, missing


def _leave_out_rows(
    rows: dict[int, Rule], count: int, atoms: dict[Symbol, int], ground: GroundRules, told: int
) -> None:
    """Leave out what cannot hold, since clingo was told that all heads of rows may be true.

    ``told`` is the body of the rule that said so, and ``count`` the number of rows.
    """
    if len(rows) == count and not any(rule.body and max(rule.body) > 0 for rule in rows.values()):
        return
    heads = {head for rule in ground.rules if rule.body == (told,) for head in rule.head}
    ground.rules = [rule for rule in ground.rules if rule.body != (told,)]
    false = heads - ground.externals.keys()
    kept = without([*ground.rules, *rows.values()], atoms, false=false)
    for index, rule in zip(list(rows), kept[len(ground.rules) :], strict=True):
        if rule is None:
            del rows[index]
        else:
            rows[index] = rule
    ground.rules = [rule for rule in kept[: len(ground.rules)] if rule is not None]


def _hidden_atoms(control: Control) -> set[int]:
    """The atoms of the encoding, which do not belong to the program.

    They exclude those of edges and the markers of annotated statements and rules.
    """
    base = control.symbolic_atoms
    return {
        atom.literal
        for name, arity, _ in base.signatures
        if is_hidden(name) and not is_choice_marker(name) and name not in (EDGE, PATH, RULE)
        for atom in base.by_signature(name, arity)
    }


def _split(ground: Iterable[Rule], hidden: set[int]) -> tuple[list[Rule], Bodies, dict[int, int]]:
    """The rules of the program, the bodies of the markers, and the atoms that markers derive.

    The rules that link markers with atoms have a marker as their only body literal.
    """
    rules: list[Rule] = []
    bodies: dict[int, list[tuple[int, ...]]] = {}
    links: dict[int, int] = {}
    for rule in ground:
        head, body = rule.head, rule.body
        if len(head) == 1 and head[0] in hidden:
            if rule.choice:
                bodies.setdefault(head[0], []).append(body)
        elif len(body) == 1 and body[0] in hidden:
            links[body[0]] = head[0]
        else:
            rules.append(rule)
    return rules, bodies, links


_WORDS = {TruthValue.True_: "true", TruthValue.False_: "false", TruthValue.Free: "free"}


def _add_externals(
    assembly: Assembly, declared: Mapping[int, TruthValue], program: ast.Program
) -> None:
    """Give external atoms that no rule derives their declared values, or those that were set.

    An atom that each row of a table sets is a choice. So is a false one that a network reads: the
    data say whether it exists.
    """
    derived = {head for rule in assembly.rules for head in rule.head}
    names = {
        symbol: atom
        for symbol, atom in assembly.atoms.items()
        if atom in declared and atom not in derived
    }
    values = {s: _WORDS[declared[atom]] for s, atom in names.items() if declared[atom] in _WORDS}
    for text, value in program.externals:
        symbol = parse_symbol(text)
        if symbol not in names:
            is_derived = symbol is not None and assembly.atoms.get(symbol) in derived
            why = "a rule derives it" if is_derived else "the program does not declare it"
            help = nearest(text, list(map(str, names))) or f"declare it: #external {text}."
            message = f"{text} is not an external atom: {why}"
            raise UsageError(Diagnostic("unknown-external", message, help=help))
        assert symbol is not None
        values[symbol] = value
    assembly.externals.update(values)
    rows = (row for network in assembly.networks for row in network.rows)
    read = {atom for row in rows for atom in data_atoms(row)}
    statements = external_names(program)
    for symbol, value in values.items():
        head = (names[symbol],)
        if value in ("true", "free"):
            assembly.rules.append(Rule(head, (), value == "free"))
        elif value != "false" or symbol in read:
            weight = Present(symbol) if value == "false" else FixedWeights((0.5,))
            selectors = (next(assembly.fresh),)
            choice = Choice(statements[symbol.name], (), selectors, head, weight, True)
            _add_choice(assembly, choice, _ALWAYS)


def _add_annotated(
    assembly: Assembly,
    instances: Iterable[StatementInstance],
    rows: Mapping[int, Rule],
    program: ast.Program,
) -> None:
    failed: set[int] = set()
    for index, substitution, heads, marker in instances:
        if index in failed or index >= len(program.statements):
            continue  # higher ones are decisions
        statement = program.statements[index]
        assert isinstance(statement, ast.Annotated)
        try:
            weight, nothing = assembly.weights.weigh(index, statement, substitution)
        except ProgramError as error:
            assembly.problems += error.diagnostics
            failed.add(index)
            continue
        selectors = _selectors(assembly, marker or next(assembly.fresh), len(heads))
        choice = Choice(index, substitution, selectors, heads, weight, nothing)
        _add_choice(assembly, choice, assembly.bodies[marker] if marker else (rows[index].body,))


def _add_decisions(
    assembly: Assembly,
    instances: Iterable[StatementInstance],
    encoding: Encoding,
    control: Control,
) -> None:
    """Add a choice for each atom that is decided, and the decisions that they belong to."""
    stride = len(encoding.program.statements)
    groups: dict[tuple[int, Substitution], dict[int, list[StatementInstance]]] = {}
    for instance in instances:
        if instance.statement >= stride:
            index = instance.statement % stride
            group = encoding.decisions.group(index, instance.substitution)
            atoms = groups.setdefault((index, group), {})
            atoms.setdefault(instance.heads[0], []).append(instance)
    bounds = {
        index: encoding.decisions.bounds(control, index) for index in {key[0] for key in groups}
    }
    for (index, group), atoms in sorted(groups.items(), key=lambda item: item[0]):
        first = len(assembly.choices)
        for atom, several in atoms.items():
            selectors = (several[0].marker,)
            choice = Choice(index, group, selectors, (atom,), Decided(), True)
            _add_choice(assembly, choice, [b for i in several for b in assembly.bodies[i.marker]])
        span = encoding.program.statements[index].span
        least, most = 0, len(atoms)
        for sign, symbol in bounds[index].get(group, ()):
            if symbol.type is not SymbolType.Number:
                message = f"the bound {symbol} of this decision is not a whole number"
                help = "write bounds such as 1 {a; b} 2"
                assembly.problems.append(Diagnostic("decision-bound", message, span, help))
                continue
            number = symbol.number + (sign == ">") - (sign == "<")
            if sign in (">", ">=", "="):
                least = max(least, number)
            if sign in ("<", "<=", "="):
                most = min(most, number)
        if least > most:
            many = counted(len(atoms), "atom")
            message = f"there is no strategy: of {many} here, at least {least} and at most {most} "
            message += "would have to be decided"
            help = "change the bounds, or the atoms in the braces"
            assembly.problems.append(Diagnostic("decision-bound", message, span, help))
        numbers = tuple(range(first, len(assembly.choices)))
        assembly.decisions.append(GroundDecision(index, numbers, least, most))


def _also_by_chance(assembly: Assembly, program: ast.Program) -> Iterator[Diagnostic]:
    """Refuse atoms that are decided and also have a probability."""
    names = {number: symbol for symbol, number in assembly.atoms.items()}
    by_chance = {
        head: choice.statement
        for choice in assembly.choices
        if not isinstance(choice.weight, Decided)
        for head in choice.heads
    }
    for choice in assembly.choices:
        if isinstance(choice.weight, Decided) and choice.heads[0] in by_chance:
            line = program.statements[by_chance[choice.heads[0]]].span.line
            message = f"{names[choice.heads[0]]} is decided, and line {line} makes it a matter of "
            message += "chance"
            help = "decide another atom, and say by a rule what it does: a :- decided, works."
            span = program.statements[choice.statement].span
            yield Diagnostic("decision-chance", message, span, help)


_ALWAYS = ((),)  # the bodies of instances without a condition


def _selectors(assembly: Assembly, marker: int, values: int) -> tuple[int, ...]:
    """Atoms that stand for the values of a choice; the marker's own number is the first."""
    return (marker, *(next(assembly.fresh) for _ in range(values - 1)))


def _add_choice(assembly: Assembly, choice: Choice, bodies: Sequence[tuple[int, ...]]) -> None:
    assembly.choices.append(choice)
    if len(bodies) == 1 == len(choice.heads):  # usually
        assembly.rules.append(Rule(choice.heads, (choice.selectors[0], *bodies[0])))
        return
    distinct = _distinct(bodies)
    for selector, head in zip(choice.selectors, choice.heads, strict=True):
        for body in distinct:
            assembly.rules.append(Rule((head,), (selector, *body)))


def _add_neural(assembly: Assembly, index: int, encoding: Encoding, control: Control) -> None:
    statement = encoding.program.statements[index]
    assert isinstance(statement, ast.Neural)
    found = encoding.instances.read(control, index)
    instances = [instance for instance in found if instance.atom in assembly.bodies]
    values, outcomes = _checked_sets(assembly, index, encoding, control)
    heads = [
        [(value, outcome) for value in [[v] for v in values] or [[]]]
        for outcome in [[o] for o in outcomes] or [[]]
    ]
    of_marker: dict[int, int] = {}
    if not outcomes:
        outcomes, of_marker = _outcomes_of_bodies(instances)
    network = len(assembly.networks)
    rows = {row: number for number, row in enumerate(dict.fromkeys(i.row for i in instances))}
    known = tuple(row for row in rows if row is not None)
    assembly.networks.append(GroundNetwork(index, known, outcomes, values))
    for substitution, row, arguments, marker in instances:
        first = marker
        for outcome, parts in enumerate(heads):
            symbols = [
                Function(statement.name, [*arguments, *value, *last], statement.positive)
                for value, last in parts
            ]
            atoms = tuple(assembly.atoms[symbol] for symbol in symbols)
            selectors = _selectors(assembly, first, len(atoms))
            first = next(assembly.fresh)
            weight = FromNetwork(network, rows[row], of_marker.get(marker, outcome))
            choice = Choice(index, substitution, selectors, atoms, weight, not values)
            _add_choice(assembly, choice, assembly.bodies[marker])


def _checked_sets(
    assembly: Assembly, index: int, encoding: Encoding, control: Control
) -> list[tuple[Symbol, ...]]:
    """The sets of a neural statement or a factor; a value that is listed twice is a problem."""
    sets = encoding.instances.sets(control, index)
    for values in sets:
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            message = f"{twice} is listed twice in a set of values"
            span = encoding.program.statements[index].span
            problem = Diagnostic("neural-values", message, span, "list it once")
            assembly.problems.append(problem)
    return sets


def _outcomes_of_bodies(
    markers: Sequence[Instance],
) -> tuple[tuple[Symbol, ...], dict[int, int]]:
    """The outcomes listed in bodies, as in ``L = 0..7``, and the one of each marker.

    They are the arguments of the head that differ within a row; every row must have all of them.
    """
    by_row: dict[Symbol | None, list[Instance]] = {}
    for marker in markers:
        by_row.setdefault(marker.row, []).append(marker)
    differing = sorted({
        place
        for alike in by_row.values()
        for marker in alike[1:]
        for place, (one, other) in enumerate(
            zip(marker.values, alike[0].values, strict=True)
        )
        if one != other
    })  # fmt: skip
    if not differing:
        return (), {}
    named = {}
    for marker in markers:
        parts = [marker.values[place] for place in differing]
        named[marker.atom] = parts[0] if len(parts) == 1 else Function("", parts)
    outcomes = sorted(set(named.values()))
    if any({named[marker.atom] for marker in alike} != set(outcomes) for alike in by_row.values()):
        return (), {}
    places = {outcome: place for place, outcome in enumerate(outcomes)}
    return tuple(outcomes), {atom: places[outcome] for atom, outcome in named.items()}


def _add_factor(assembly: Assembly, index: int, encoding: Encoding, control: Control) -> None:
    statement = encoding.program.statements[index]
    assert isinstance(statement, ast.Factor)
    sets = _checked_sets(assembly, index, encoding, control)
    outcomes = list(product(*sets))  # of a network's factor: combinations of the values of its sets
    rows: dict[Symbol, int] = {}
    for substitution, row, values, marker in encoding.instances.read(control, index):
        weight: FixedFactor | Learned | FromNetwork
        if marker not in assembly.bodies:  # it needs a row that cannot hold
            continue
        if row is not None:
            number = rows.setdefault(row, len(rows))
            weight = FromNetwork(len(assembly.networks), number, outcomes.index(values))
        else:
            try:
                weight = assembly.weights.factor(index, statement, substitution)
            except ProgramError as error:
                assembly.problems += error.diagnostics
                break
        bodies = _distinct(assembly.bodies[marker])
        assembly.factors.append(Factor(index, substitution, bodies, weight))
    if rows:
        named = tuple(Function("", values) for values in outcomes if values)
        assembly.networks.append(GroundNetwork(index, tuple(rows), named, ()))


def _add_costs(assembly: Assembly, encoding: Encoding, control: Control) -> None:
    """A weak constraint of cost c is a factor exp(-c), once for each distinct tuple."""
    span_of = encoding.program.sources.span_of
    found: dict[tuple[Symbol, ...], tuple[int, list[tuple[int, ...]]]] = {}
    for index in encoding.instances.costs:
        node = encoding.program.statements[index].node  # type: ignore[attr-defined]
        for key, marker in encoding.instances.read_costs(control, index):
            if marker not in assembly.bodies:
                continue
            cost, level, _ = key
            if level != Number(0):
                problem = another_level(str(level), span_of(node.priority.location))
                assembly.problems.append(problem)
            elif cost.type != SymbolType.Number:
                message = f"the cost is {cost} here, but costs are integers"
                help = "write an integer; #factor takes any real number"
                where = span_of(node.weight.location)
                assembly.problems.append(Diagnostic("cost-number", message, where, help))
            else:
                found.setdefault(tuple(key), (index, []))[1].extend(assembly.bodies[marker])
    for key, (index, bodies) in found.items():
        weight = FixedFactor(float(-key[0].number))
        assembly.factors.append(Factor(index, (), _distinct(bodies), weight))


def ground_tables(
    program: ast.Program, atoms: Mapping[Symbol, int], constants: Mapping[str, Symbol]
) -> tuple[tuple[GroundTable, ...], list[Diagnostic]]:
    """The tables of factors over numbered atoms, and warnings about atoms that cannot occur."""
    numbers: dict[str, int] = {}
    tables: list[GroundTable] = []
    warnings: list[Diagnostic] = []
    for index, statement in enumerate(program.statements):
        if not isinstance(statement, ast.FactorTable):
            continue
        sets = []
        for each in statement.sets:
            for text in each:
                if text not in numbers:
                    symbol = parse_symbol(_with_constants(text, constants))
                    numbers[text] = 0 if symbol is None else atoms.get(symbol, 0)
                if not numbers[text]:
                    kinds = set(map(Signature.of, atoms))
                    warnings.append(undefined_atom(text, statement.span, kinds))
            sets.append(tuple([numbers[text] for text in each]))
        tables.append(GroundTable(index, tuple(sets), statement.weights))
    return tuple(tables), warnings[: TUNING.messages]


def _with_constants(text: str, constants: Mapping[str, Symbol]) -> str:
    """The text of an atom with the values of constants in its arguments."""
    name, bracket, inside = text.partition("(")
    if not constants or not bracket:
        return text
    return f"{name}({_WORD.sub(lambda m: str(constants.get(m[0], m[0])), inside)}"


def _distinct(bodies: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Alternative bodies without duplicates."""
    return ((),) if () in bodies else tuple(dict.fromkeys(bodies))
