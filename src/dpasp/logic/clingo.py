"""clingo's grounder: what it is given, what it finds, and what it says, in our words.

>>> def check():                                     # may raise, to stop the grounder
...     pass
>>> gathered = GroundRules(check)
>>> control = Control()
>>> control.register_observer(gathered)
>>> control.add("base", [], "{a}. b :- not a.")
>>> control.ground([("base", [])])
>>> len(gathered.rules)
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

from clingo import Control, MessageCode, Observer, Symbol, TruthValue

from dpasp.errors import Diagnostic, LimitReached, MemoryLimit, ProgramError, TimeLimit
from dpasp.language import ast
from dpasp.limits import Watch
from dpasp.limits.work import Supervisor
from dpasp.logic.encode import Encoding
from dpasp.logic.markers import is_hidden
from dpasp.logic.messages import Messages
from dpasp.logic.program import Rule
from dpasp.logic.python import Functions
from dpasp.logic.terms import Signature

_GROUNDING = "the program was still being ground: raise the limit, or make the program smaller"
_ENDLESS = (
    "the program was still being ground; does a rule such as p(X+1) :- p(X) have no end? "
    "Bound it, as in p(X+1) :- p(X), X < 9, or raise the limit"
)
LONG = 0.5  # seconds of grounding after which a rule may have no end
MESSAGE_LIMIT = 1_000  # how many messages clingo may have about one program


def while_grounding(error: TimeLimit | MemoryLimit, seconds: float) -> LimitReached:
    """The limit that was reached after so many seconds of grounding, with what helps there."""
    help = _ENDLESS if seconds > LONG else _GROUNDING
    return type(error)(replace(d, help=help) for d in error.diagnostics)


class TooLarge(Exception):
    """A program has more ground rules than were allowed."""


class GroundRules(Observer):
    """Gathers ground rules; ``check`` is called at each, and may raise to stop the grounder.

    Raises :class:`TooLarge` where there are more than ``most`` of them.
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


class ClingoGrounder:
    """A control of clingo's for a program, with what it said and what went wrong."""

    def __init__(
        self, encoding: Encoding, functions: Functions, watch: Watch, most: float = inf
    ) -> None:
        self._program = encoding.program
        self._functions = functions
        self._messages: list[tuple[MessageCode, str]] = []
        self._lines = encoding.choices.lines
        self._rewriter = Messages(encoding.program.sources, self._lines)
        self._supervisor = Supervisor(watch)
        self.rules = GroundRules(lambda: self._supervisor.check(), most)
        functions.check = lambda: self._supervisor.check()
        self.control = Control(logger=self._note, message_limit=MESSAGE_LIMIT)
        self.control.register_observer(self.rules, replace=True)
        if encoding.careful is not None and encoding.careful.sums is not None:
            self.control.register_observer(encoding.careful.sums.found)
        encoding.add_to(self.control)

    def turn_to(self, program: ast.Program, watch: Watch) -> None:
        """Go on with the same program and other questions, under another clock."""
        self._program = program
        self._messages.clear()
        self._rewriter = Messages(program.sources, self._lines)
        self._supervisor = Supervisor(watch)

    def _note(self, code: MessageCode, message: str) -> None:
        self._messages.append((code, message))

    def ground(self, *parts: str) -> None:
        """Ground parts of the program; with none, only check that variables are safe."""
        started = self._supervisor.watch.elapsed()
        wanted: Sequence[tuple[str, Sequence[Symbol]]] = [(part, []) for part in parts]
        try:
            self._supervisor.run(lambda: self.control.ground(wanted, context=self._functions))
        except RuntimeError as error:
            raise self._explain(error) from error
        except (TimeLimit, MemoryLimit) as error:
            seconds = self._supervisor.watch.elapsed() - started
            raise while_grounding(error, seconds) from None

    def _explain(self, error: RuntimeError) -> BaseException:
        """What stopped the grounder, in our words."""
        if self._functions.failure is not None:
            return self._functions.failure
        said = [m for code, m in self._messages if code == MessageCode.RuntimeError]
        rewrite = self._rewriter.rewrite
        problems = [d for message in said or [str(error)] for d in rewrite(message, ())]
        return ProgramError(self._program.sources.in_order(problems))

    def warnings(self) -> list[Diagnostic]:
        """What clingo said that does not stop the grounder."""
        said = [m for code, m in self._messages if code != MessageCode.RuntimeError]
        known = list(self._signatures()) if said else []
        return [d for message in said for d in self._rewriter.rewrite(message, known)]

    def _signatures(self) -> Iterator[Signature]:
        """The predicates that have atoms."""
        base = self.control.symbolic_atoms
        for name, arity, positive in base.signatures:
            if not is_hidden(name) and any(True for _ in base.by_signature(name, arity, positive)):
                yield Signature(name, arity, positive)
