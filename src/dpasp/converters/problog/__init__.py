r"""ProbLog: a whole program.

It is translated rule by rule: ``rules`` holds the state of a translation and translates terms,
``bodies`` and ``clauses`` translate one clause, ``adapt`` makes changes that need the whole program
and refuses what might change its meaning. Refused programs are left to ``grounding``, which asks
ProbLog for the ground program. ``deepproblog`` adds networks.

>>> print(converted(r"0.3::a. b :- \+ a.   % so", "p.pl"))
% converted from ProbLog: p.pl
#semantics wellfounded, maxent.
<BLANKLINE>
0.3::a. b :- not a.  % so
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpasp.converters import NO_LIMITS
from dpasp.converters.neurasp import OPEN_CODES
from dpasp.converters.problog.adapt import (
    TRIAL_LIMITS,
    QuestionDemand,
    calls_atom,
    check_cycles,
    check_numbers,
    depends,
)
from dpasp.converters.problog.bodies import data
from dpasp.converters.problog.clauses import (
    Made,
    Note,
    QuestionRule,
    head_predicates,
    translate_clause,
    used_library,
)
from dpasp.converters.problog.deepproblog import inputs_text
from dpasp.converters.problog.grounding import INSTALL, ground_program, installed
from dpasp.converters.problog.rules import (
    SEMANTICS,
    Context,
    Head,
    Literal,
    PrologNames,
    Rule,
    goal_text,
    goal_variables,
    is_word,
    number_text,
    predicate,
    rule_terms,
    rule_text,
)
from dpasp.converters.prolog import (
    Clause,
    Comment,
    Compound,
    Number,
    Term,
    Text,
    Variable,
    all_subterms,
    read_clauses,
    substitute,
    variable_names,
)
from dpasp.converters.text import (
    NewPiece,
    checked_text,
    comment,
    heading,
    laid_out,
    unused_name,
)
from dpasp.errors import LimitReached, ProgramError, UsageError, each
from dpasp.language.text import SourceFile
from dpasp.limits import Limits

ASKING = ("query", "consult", "use_module")  # ProbLog grounds what is asked, here or there
ASKED = "% Prolog takes these values from the questions; here rules say what is asked for."


def converted(
    text: str,
    file: str,
    *,
    ground: bool | None = None,
    python: bool = False,
    limits: Limits = NO_LIMITS,
    examples: Sequence[tuple[str, str]] = (),
) -> str:
    """Convert a ProbLog program rule by rule or, if that is impossible, by ProbLog's grounder.

    ``examples`` are files of interpretations to learn from, which are translated rule by rule.
    """
    if examples:
        if ground:
            raise UsageError("a program with examples to learn from is not ground")
        read = [one for text_and_file in examples for one in read_examples(*text_and_file)]
        return by_rules(text, file, examples=read)
    if ground:
        return ground_program(text, file, python, limits)
    try:
        return by_rules(text, file)
    except ProgramError as error:
        if ground is not None or not any(word in text for word in ASKING):
            raise
        if not installed():
            help = f"or let ProbLog ground the program: {INSTALL}"
            first, *rest = error.diagnostics
            first = replace(first, help=f"{first.help}; {help}" if first.help else help)
            raise ProgramError([first, *rest]) from error
        try:
            return ground_program(text, file, python, limits)
        except ProgramError as other:
            raise ProgramError([*error.diagnostics, *other.diagnostics]) from other


def from_deepproblog(text: str, file: str) -> str:
    return by_rules(text, file, deep=True)


def by_rules(text: str, file: str, examples: Sequence[Example] = (), *, deep: bool = False) -> str:
    """Convert a program rule by rule; raises an error for what has no counterpart.

    If ``deep``, it is for DeepProbLog: heads may have networks, and there are no lists.
    """
    items = read_clauses(text, file)
    clauses = [item for item in items if isinstance(item, Clause)]
    terms = [clause.term for clause in clauses]
    context = _context(SourceFile(file, text), terms, deep)
    context.learns = bool(examples)
    seen = [
        Clause(Compound("query", (atom,)), (0, 0))
        for atom in dict.fromkeys(lit.atom for one in examples for lit in one)
    ]

    def translated(clause: Clause) -> list[Made]:
        return translate_clause(clause.term, clause.at, context)

    made = each(translated, clauses)
    try:
        asked = [item for ones in each(translated, seen) for item in ones]
    except ProgramError as error:  # it has no place in the program
        raise ProgramError(replace(d, span=None) for d in error.diagnostics) from error
    program = _Program([*(item for ones in made for item in ones), *asked], context)
    pieces = [comment(item.at, item.text) for item in items if isinstance(item, Comment)]
    for clause, ones in zip(clauses, made, strict=True):
        lines = [line for item in ones for line in program.lines(item)]
        pieces.append(NewPiece(clause.at, "\n".join(lines)))
    cons, nil = context.cons, context.nil
    notes = [f"% The list [a,b] is {cons}(a,{cons}(b,{nil}))."] if program.has_lists else []
    head = heading("DeepProbLog" if deep else "ProbLog", file, *notes, SEMANTICS)
    atoms = [ask.literal.atom for ask in program.asks]
    asked_rules = [rule_text(rule, program.names) for rule in program.asked]
    foot = "\n".join(["", ASKED, *asked_rules, ""]) if asked_rules else ""
    foot += inputs_text(program.rules, atoms)
    if any(head.decided for rule in program.rules for head in rule.heads):
        foot += "\n#decide.\n"
    if examples:  # as a function of the program, and the statement that learns from them
        texts = [list(map(program.observed, example)) for example in examples]
        listed = "".join(f"        {one!r},\n" for one in texts)
        foot += f"\n#python\ndef examples():\n    return [\n{listed}    ]\n"
        foot += "#end.\n#learn @examples.\n"
    allowed = OPEN_CODES if deep else frozenset[str]()
    return checked_text(head, laid_out(text, pieces), foot, context.source, allowed)


def _context(source: SourceFile, terms: list[Term], deep: bool) -> Context:
    """The state before the first clause is translated."""
    compounds = [term for term in terms if isinstance(term, Compound)]
    directives = [t.args[0] for t in compounds if t.name in (":-", "?-") and len(t.args) == 1]
    heads = [t.args[0] if t.name == ":-" and len(t.args) == 2 else t for t in compounds]
    plain_heads = [t for t in heads if not (isinstance(t, Compound) and t.name == "decision")]
    every = [t for term in terms for t in all_subterms(term)]
    names = {t.name for t in every if isinstance(t, Compound)}
    declared = (name for goal in directives for name in _declared(goal))
    cons, nil = (unused_name(name, names) for name in ("cons", "nil"))
    return Context(
        source,
        {*names, cons, nil},
        {*declared, *(head for term in terms for head in head_predicates(term))},
        negative=any(
            (isinstance(t, Number) and t.text.startswith("-"))
            or (isinstance(t, Compound) and t.name == "-" and t.args)
            for t in every
        ),
        cons="" if deep else cons,
        nil=nil,
        libraries=frozenset(filter(None, map(used_library, directives))),
        unknown_fails=Compound("unknown", (Compound("fail"),)) in directives,
        deep=deep,
        others=frozenset(head for term in plain_heads for head in head_predicates(term)),
    )


def _declared(goal: Term) -> Iterator[tuple[str, int]]:
    """The predicates declared by ``:- dynamic p/2``."""
    if isinstance(goal, Compound) and goal.name == "dynamic":
        for term in all_subterms(goal):
            match term:
                case Compound("/", (Compound(name, ()), Number(text))) if text.isdigit():
                    yield name, int(text)


class _Program:
    """The rules and questions of a program, ready to be written."""

    def __init__(self, made: Sequence[Made], context: Context) -> None:
        self.context = context
        rules = [item for item in made if isinstance(item, Rule)]
        asks = [item for item in made if isinstance(item, QuestionRule)]
        self.asks = asks
        check_numbers(rules, asks, context)
        demand = QuestionDemand(rules, asks, context)
        served = demand.served_rules()
        self.final = {id(rule): served.get(id(rule), rule) for rule in rules}
        self.asked = demand.questions()
        self.rules = [*self.final.values(), *self.asked]
        terms = [t for rule in self.rules for t in rule_terms(rule)]
        terms += [ask.literal.atom for ask in asks]
        terms += [goal.atom for ask in asks for goal in ask.body]
        self.names = PrologNames(terms)
        _refuse_twins(terms, context)
        names = {t.name for term in terms for t in all_subterms(term) if isinstance(t, Compound)}
        self.has_lists = bool(names & {context.cons, context.nil})
        if demand.growing and not self._terminates():
            message = "this recursion does not terminate here: it builds ever larger terms"
            help = "bound it in the body, for example with N < 10"
            raise context.refuse(demand.growing[0].at, message, help)
        asked = {predicate(head.atom) for rule in self.asked for head in rule.heads}
        check_cycles(list(self.final.values()), asked, self.text(), self.names, context)

    def lines(self, item: Made) -> list[str]:
        match item:
            case Rule():
                return [rule_text(self.final[id(item)], self.names)]
            case Note(at, why):
                old = " ".join(self.context.source.text[slice(*at)].split())
                return [f"% {old}  ({why})"]
            case QuestionRule(kind="utility"):
                return [self._utility(item)]
            case QuestionRule():
                return [f"#{item.kind} {text}." for text in self._instances(item)]

    def observed(self, literal: Literal) -> str:
        return goal_text(replace(literal, atom=data(literal.atom, self.context)), self.names)

    def text(self) -> str:
        return "\n".join([SEMANTICS, *(rule_text(rule, self.names) for rule in self.rules)])

    def _instances(self, ask: QuestionRule) -> list[str]:
        """The literals in question: those for which its body holds, if it has one."""
        atom = ask.literal.atom
        names = variable_names(atom)
        if ask.kind == "evidence" and names and not ask.body:
            help = "write one line for each atom that is observed"
            raise self.context.refuse(atom, "evidence with variables", help)
        if not ask.body:
            hidden = {name: Variable("_") for name in names if not name[0].isupper()}  # auxiliary
            shown = replace(ask.literal, atom=substitute(atom, hidden))
            return [goal_text(shown, self.names)]
        from dpasp.program import loads

        # those for which the body holds, which must be certain
        name = self.context.predicate("instance", "query")
        rule = rule_text(Rule((Head(Compound(name, (atom,))),), ask.body), self.names)
        program = loads(f"{self.text()}\n{rule}\n", file=self.context.source.name)
        answers = program.query(f"{name}(X)", limits=TRIAL_LIMITS)
        values = {str(a.query).removeprefix(f"{name}(").removesuffix(")"): a.value for a in answers}
        for text, value in values.items():
            if value not in (0, 1):
                message = f"whether {text} is asked is uncertain, and a question must be certain"
                raise self.context.refuse(ask.at, message)
        sign = "not " if ask.literal.negative else ""
        return [sign + text for text, value in values.items() if value]

    def _utility(self, ask: QuestionRule) -> str:
        """A utility: once for each instance of its literal, as long as the body is certain."""
        assert ask.value is not None
        goals = [goal for goal in ask.body if goal != ask.literal]
        chosen = {predicate(h.atom) for rule in self.rules if rule.chooses for h in rule.heads}
        reach = depends(self.rules)
        shown = variable_names(ask.literal.atom, ask.value).keys()
        for goal in goals:
            called = predicate(goal.atom)
            if calls_atom(goal) and {called, *reach.get(called, ())} & chosen:
                help = "name an atom that holds where the utility counts, by a rule"
                raise self.context.refuse(ask.at, "a utility with an uncertain body", help)
            if not goal_variables(goal).keys() <= shown:
                message = "a utility would count once for each value of a variable of its body"
                help = "let its atom have all variables of the body"
                raise self.context.refuse(ask.at, message, help)
        body = [goal_text(ask.literal, self.names)]
        body += [goal_text(goal, self.names) for goal in goals]
        return f"#utility {number_text(ask.value, self.names)} : {', '.join(body)}."

    def _terminates(self) -> bool:
        """Whether grounding the program ends within the limits of a trial."""
        from dpasp.program import loads

        try:
            loads(self.text(), file=self.context.source.name).ground(limits=TRIAL_LIMITS)
        except ProgramError:
            return True  # reported when the program is checked
        except LimitReached:
            return False
        return True


def _refuse_twins(terms: Sequence[Term], context: Context) -> None:
    """Refuse a quoted name and a string that would become the same."""
    texts = {t.value for term in terms for t in all_subterms(term) if isinstance(t, Text)}
    for term in (t for outer in terms for t in all_subterms(outer)):
        if isinstance(term, Compound) and not term.args and term.name in texts:
            help = "give one of them another name"
            raise context.refuse(term, f"'{term.name}' and \"{term.name}\" would be the same", help)


# --- learning from interpretations ----------------------------------------------------------------

DASHES = re.compile(r"^[ \t]*---.*$", re.M)
FORM = "write evidence(atom, true) or evidence(atom, false); lines of dashes end an example"
Example = tuple[Literal, ...]


def read_examples(text: str, file: str) -> list[Example]:
    """The examples of a file; those without evidence are left out."""
    breaks = [match.start() for match in DASHES.finditer(text)]
    blank = DASHES.sub(lambda match: " " * len(match[0]), text)
    examples: list[list[Literal]] = [[] for _ in range(len(breaks) + 1)]
    source = SourceFile(file, text)

    def read(clause: Clause) -> None:
        literal = _observed(clause.term)
        span = source.span(*clause.at)
        if literal is None:
            raise ProgramError.at("no-counterpart", "this is not evidence", span, FORM)
        mine = examples[sum(at < clause.at[0] for at in breaks)]
        if Literal(literal.atom, not literal.negative) in mine:
            message = "the same atom is true and false in one example"
            raise ProgramError.at("no-counterpart", message, span)
        if literal not in mine:
            mine.append(literal)

    each(read, (item for item in read_clauses(blank, file) if isinstance(item, Clause)))
    return [tuple(example) for example in examples if example]


def _observed(term: Term) -> Literal | None:
    """The literal of an evidence fact; None if it is something else."""
    match term:
        case Compound("evidence", (atom,)):
            negative = False
        case Compound("evidence", (atom, Compound("true" | "false" as value, ()))):
            negative = value == "false"
        case _:
            return None
    while isinstance(atom, Compound) and atom.name in ("\\+", "not") and len(atom.args) == 1:
        negative, atom = not negative, atom.args[0]
    if not isinstance(atom, Compound) or not is_word(atom.name) or variable_names(atom):
        return None
    return Literal(atom, negative)
