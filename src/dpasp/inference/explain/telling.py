"""Why a literal holds in a model, rule by rule, down to facts and choices; and why not.

>>> from dpasp import loads
>>> program = loads("0.5::wet(1). slip(X) :- wet(X), not salted(X).")
>>> print(program.explain("slip(1)")[0].tree)
slip(1): by line 1, since wet(1) and not salted(1)
  wet(1): chosen, with probability 0.5 (line 1)
  not salted(1): no rule gives it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property

from clingo import Symbol

from dpasp.dataclass import dataclass
from dpasp.ground.markers import RuleInstance
from dpasp.ground.program import Choice, GroundLiteral, IntervalWeights
from dpasp.ground.text import People
from dpasp.ground.values import match
from dpasp.inference.answers import Value, decimal_text
from dpasp.inference.explain.explanation import Tree
from dpasp.inference.explain.traced import BodyPart, TextInModel, Texts, TracedModel
from dpasp.language.ast import Mode
from dpasp.semantics.leaves import Weights

MOST = 300  # lines of a tree, about
DEEPEST = 40  # levels of a tree
SHOWN = 8  # reasons of one kind that are listed
Path = tuple[tuple[Symbol, bool], ...]  # atoms above, and whether each was reached by a negation


@dataclass
class Teller:
    """Explains literals in one model, as trees of sentences.

    The trees of one teller explain an atom once, and refer to that from then on.
    """

    texts: Texts
    model: TracedModel
    people: People
    probabilities: Sequence[Weights | None]  # of the values of every choice, where known
    _explained: set[tuple[Symbol, Value]] = field(default_factory=set)
    _lines: int = 0

    @cached_property
    def here(self) -> TextInModel:
        """What atoms and literals are in the model."""
        return TextInModel(self.texts, self.model)

    def query(self, literals: Iterable[GroundLiteral]) -> Tree:
        """Why literals have the values that they have in the model."""
        every = tuple(
            self.literal(literal.symbol, literal.mode is Mode.FALSE) for literal in literals
        )
        if len(every) == 1:
            return every[0]
        text = ", ".join(literal.literal for literal in every)
        return Tree(text, None, "all", "all of these:", below=every)

    def literal(self, symbol: Symbol, negated: bool, path: Path = ()) -> Tree:
        """Why an atom is true, false or undefined."""
        value = self.here.value(symbol)
        self._lines += 1
        if self.model.collapsed:
            words = "no stable model fits these choices, so every atom is undefined"
            return Tree(_text(symbol, negated), value, "undefined", f"{self.name(symbol)}: {words}")
        if symbol in (above for above, _ in path):
            return self._loop(symbol, negated, path, value)
        if (symbol, value) in self._explained and not self._is_short(symbol, value):
            words = f"{self._says(symbol, value)}, explained above"
            return Tree(_text(symbol, negated), value, "again", words)
        self._explained.add((symbol, value))
        here: Path = (*path, (symbol, negated))
        if value is True:
            return self._true(symbol, negated, here)
        return (
            self._undefined(symbol, negated, here) if value else self._false(symbol, negated, here)
        )

    # --- what is true --------------------------------------------------------------------------

    def _true(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is true: a fact, else what derives it first, a choice or a rule."""
        atom = self.here.atom(symbol)
        text, name = _text(symbol, negated), self.name(symbol)
        for index, _ in self.texts.giving(symbol):
            if self.texts.is_fact(index) and self.texts.head_kind(index) == "one":
                words = f"{name}: a fact (line {self.texts.span(index).line})"
                return self._node(text, "fact", words, index)
        supports = [
            (self.here.when(rule.atom), rule)
            for rule in self.texts.rule_instances(symbol)
            if rule.atom in self.model.true
        ]
        chosen = self.here.first_choice(atom)
        if chosen is not None and (not supports or chosen[0] <= min(s[0] for s in supports)):
            return self._choice(text, symbol, chosen[1], chosen[2], path)
        if supports:
            _, instance = min(supports, key=lambda pair: pair[0])
            return self._by_rule(text, symbol, instance, path)
        for index, _ in self.texts.giving(symbol):
            line = self.texts.span(index).line
            return self._node(
                text, "free", f"{name}: left open by line {line}, and true here", index
            )
        return Tree(text, True, "fact", f"{name}: given")

    def _choice(self, text: str, symbol: Symbol, choice: Choice, position: int, path: Path) -> Tree:
        """That an atom is true as the value of a choice, and why the choice is there."""
        line = self.texts.span(choice.statement).line
        chance = self._probability(choice, position)
        words = f"{self.name(symbol)}: chosen{chance} (line {line})"
        parts = self.texts.body(choice.statement, dict(choice.substitution))
        below = self._all(parts, path)
        return self._node(text, "choice", words, choice.statement, below)

    def _by_rule(self, text: str, symbol: Symbol, instance: RuleInstance, path: Path) -> Tree:
        """That an atom is true by an instance of a rule, and why its body holds."""
        line = self.texts.span(instance.statement).line
        parts = self.texts.body(instance.statement, dict(instance.substitution))
        kind = self.texts.head_kind(instance.statement)
        name = self.name(symbol)
        if kind == "free":
            words = f"{name}: line {line} leaves it open, and it is true here"
            return self._node(text, "free", words, instance.statement, self._all(parts, path))
        since = f", since {self._listed(parts)}" if parts else ""
        words = f"{name}: by line {line}{since}"
        return self._node(text, "rule", words, instance.statement, self._all(parts, path))

    def _all(self, parts: Sequence[BodyPart], path: Path, met: bool = True) -> tuple[Tree, ...]:
        """A tree for each literal of a body."""
        return tuple(self._part(part, path, met) for part in parts)

    def _part(self, part: BodyPart, path: Path, met: bool = True) -> Tree:
        """Why a literal of a body is what it is; ``met``: whether a condition holds."""
        if self._lines > MOST or len(path) > DEEPEST:
            return Tree(
                part.text, self.here.holds(part), "again", f"{part.text}: not told any further"
            )
        if part.symbol is not None:
            return self.literal(part.symbol, part.negated, path)
        if part.pattern is not None:
            fitting = self.here.fitting(part)
            wanted = [atom for atom in fitting if self.here.value(atom) is not False]
            if wanted:
                return self.literal(wanted[0], part.negated, path)
            return Tree(part.text, part.negated, "none", f"{part.text}: there is no such atom")
        self._lines += 1
        held = self.here.true_inside(part)
        these = f"; these of its atoms hold: {', '.join(map(self.name, held))}" if held else ""
        words = f"the condition {part.text} is {'' if met else 'not '}met{these}"
        below = tuple(self.literal(symbol, False, path) for symbol in held[:SHOWN])
        return Tree(part.text, None, "condition", words, below=below)

    # --- what is not true ----------------------------------------------------------------------

    def _false(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is false: what each rule lacks that could give it."""
        below = tuple(self._blocked(symbol, path))
        why = "no rule applies that gives it" if below else "no rule gives it"
        return Tree(
            _text(symbol, negated), False, "none", f"{self._not(symbol)}: {why}", below=below
        )

    def _blocked(self, symbol: Symbol, path: Path) -> Iterable[Tree]:
        """Every rule that could give an atom, and what it lacks."""
        reasons: list[Tree] = []
        for _, choice, position in self.texts.choices.get(self.here.atom(symbol), ()):
            reasons.append(self._blocked_choice(choice, position, path))
        instances = list(self.texts.rule_instances(symbol))
        for instance in instances[:SHOWN]:
            reasons.append(self._blocked_rule(symbol, instance, path))
        if len(instances) > SHOWN:
            more = len(instances) - SHOWN
            reasons.append(Tree("", None, "blocked", f"and {more} more instances of rules"))
        used = {instance.statement for instance in instances}
        for index, term in self.texts.giving(symbol):
            if index not in used and not self.texts.is_fact(index):
                used.add(index)
                reasons.append(self._never(index, dict(match(term, symbol, {}) or {}), path))
        return reasons

    def _blocked_choice(self, choice: Choice, position: int, path: Path) -> Tree:
        """Why a choice does not give an atom: it takes another value, or its body fails."""
        index = choice.statement
        line = self.texts.span(index).line
        parts = self.texts.body(index, dict(choice.substitution))
        if choice.selectors[position] not in self.model.true:
            chance = self._probability(choice, position)
            words = f"line {line} does not give it: not chosen{chance}"
            return self._node("", "choice", words, index, (), None)
        failing = self.here.failing(parts)
        words = f"line {line} does not give it, since {self._listed(failing, False)}"
        return self._node("", "blocked", words, index, self._all(failing, path, False), None)

    def _blocked_rule(self, symbol: Symbol, instance: RuleInstance, path: Path) -> Tree:
        """Why an instance of a rule does not give an atom."""
        index, values = instance.statement, dict(instance.substitution)
        line = self.texts.span(index).line
        parts = self.texts.body(index, values)
        if instance.atom in self.model.true:
            if self.texts.head_kind(index) == "free":
                words = f"line {line} leaves it open, and it is not true here"
                return self._node("", "free", words, index, (), None)
            others = [
                head
                for head in self.texts.other_heads(index, values, symbol)
                if self.here.value(head) is True
            ]
            names = " and ".join(map(self.name, others)) or "a condition of its head"
            words = f"line {line} does not give it: {names} holds instead"
            return self._node("", "blocked", words, index, (), None)
        failing = self.here.failing(parts)
        words = f"line {line} does not give it, since {self._listed(failing, False)}"
        return self._node("", "blocked", words, index, self._all(failing, path, False), None)

    def _never(self, index: int, values: dict[str, Symbol], path: Path) -> Tree:
        """A rule that has no instance for an atom: its body can never hold."""
        line = self.texts.span(index).line
        for part in self.texts.body(index, values):
            if self.here.can_hold(part):
                continue
            words = f"line {line} can never give it, since {self._listed([part])}"
            below = self._all([part] if part.symbol is not None else [], path)
            return self._node("", "blocked", words, index, below, None)
        words = f"line {line} can never give it: its body cannot hold"
        return self._node("", "blocked", words, index, (), None)

    def _undefined(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is undefined: the rules that are neither sure to give it nor ruled out."""
        below = []
        for instance in self.texts.rule_instances(symbol):
            if self.model.value(instance.atom) == "undef":
                parts = self.texts.body(instance.statement, dict(instance.substitution))
                below.append((instance.statement, parts))
        for _, choice, position in self.texts.choices.get(self.here.atom(symbol), ()):
            if choice.selectors[position] in self.model.true:
                parts = self.texts.body(choice.statement, dict(choice.substitution))
                below.append((choice.statement, parts))
        trees = []
        for index, parts in below[:SHOWN]:
            open_ = [part for part in parts if self.here.holds(part) == "undef"]
            line = self.texts.span(index).line
            words = f"line {line} neither gives it nor does not, since {self._listed(open_)}"
            trees.append(self._node("", "rule", words, index, self._all(open_, path), None))
        words = (
            f"{self.name(symbol)} is undefined: no rule surely gives it, and not all are ruled out"
        )
        return Tree(_text(symbol, negated), "undef", "undefined", words, below=tuple(trees))

    def _loop(self, symbol: Symbol, negated: bool, path: Path, value: Value) -> Tree:
        """That the path has come back to an atom, and through how many negations."""
        at = next(i for i, (above, _) in enumerate(path) if above == symbol)
        signs = [sign for _, sign in path[at + 1 :]] + [negated]
        atoms = " → ".join(self.name(above) for above, _ in [*path[at:], (symbol, negated)])
        negations = sum(signs)
        if not negations:
            what = "they could only give each other, which founds nothing"
        else:
            parity = "an odd" if negations % 2 else "an even"
            what = f"a loop through {parity} number of negations ({negations})"
        return Tree(_text(symbol, negated), value, "loop", f"loop: {atoms}: {what}")

    # --- words ---------------------------------------------------------------------------------

    def name(self, symbol: Symbol) -> str:
        """What an atom is called: the words of its #name, or its text."""
        return self.people.name(symbol)

    def _listed(self, parts: Sequence[BodyPart], met: bool = True) -> str:
        """A list of literals as words: what holds, or what does not."""
        return " and ".join(self._said(part, met) for part in parts) or "nothing more is needed"

    def _said(self, part: BodyPart, met: bool) -> str:
        """A literal of a body in words, with its value."""
        value = self.here.holds(part)
        if part.symbol is not None:
            return self._says(part.symbol, self.here.value(part.symbol))
        if value is None:
            return f"the condition {part.text} is {'met' if met else 'not met'}"
        if value is False:
            return f"there is no {part.text}" if not part.negated else f"{part.text} is not so"
        return f"{part.text} is undefined" if value == "undef" else part.text

    def _says(self, symbol: Symbol, value: Value) -> str:
        """An atom in words, with its value."""
        name = self.name(symbol)
        if value is True:
            return name
        return f"{name} is undefined" if value else self._not(symbol)

    def _not(self, symbol: Symbol) -> str:
        """In words that an atom does not hold."""
        name = self.name(symbol)
        return f"not {name}" if name == str(symbol) else f"it is not so that {name}"

    def _probability(self, choice: Choice, position: int) -> str:
        """The probability of a value of a choice in words; nothing where it is not known."""
        number = self.texts.traced.ground.choices.index(choice)
        match choice.weight:
            case IntervalWeights(lower, upper):
                low, high = decimal_text(lower[position]), decimal_text(upper[position])
                return f", with a probability in [{low}, {high}]"
            case _:
                probabilities = self.probabilities[number]
                return (
                    ""
                    if probabilities is None
                    else f", with probability {probabilities[position]:.6g}"
                )

    def _is_short(self, symbol: Symbol, value: Value) -> bool:
        """Whether the reasons of an atom are a single line, which may be repeated."""
        return value is True and any(
            self.texts.is_fact(index) for index, _ in self.texts.giving(symbol)
        )

    def _node(
        self,
        text: str,
        kind: str,
        words: str,
        index: int,
        below: tuple[Tree, ...] = (),
        value: Value | None = True,
    ) -> Tree:
        """A node that rests on a statement, whose number is ``index``."""
        self._lines += 1
        return Tree(text, value, kind, words, self.texts.text(index), self.texts.span(index), below)


def _text(symbol: Symbol, negated: bool) -> str:
    """A literal as text."""
    return f"{'not ' * negated}{symbol}"
