"""Programs as a user holds them: load, ask, read the answers.

>>> program = loads("0.3::a. p :- a, not q. q :- a, not p. #query p.")
>>> print(program.query())
ℙ(p) = [0.000000, 0.300000]
>>> program.query("p | a", semantics="maxent")[0].value
0.5
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, ProgramError, UsageError
from dpasp.inference.answer import answer
from dpasp.inference.answers import Answers, Assignment
from dpasp.inference.asked import Asked, ask
from dpasp.inference.engines.circuit import on_circuit
from dpasp.inference.engines.draws import sample_models
from dpasp.inference.engines.outcomes import check_questions
from dpasp.inference.explain import (
    TOP,
    Explanations,
    Inconsistencies,
    Texts,
    Traced,
    explain,
    why_inconsistent,
)
from dpasp.inference.method import Method, method
from dpasp.inference.models import Model, models
from dpasp.language import ast, extend
from dpasp.language.arguments import (
    evidence_given,
    map_given,
    path_given,
    queries_given,
    text_given,
)
from dpasp.language.checks import check, effective_semantics
from dpasp.language.text.files import Reach, load_text
from dpasp.limits import UNLIMITED, Limits, Report, Watch, silent, started
from dpasp.logic.child import can_fork
from dpasp.logic.ground import Grounder, ground_in_child
from dpasp.logic.objects import caller_objects
from dpasp.logic.program import GroundProgram, GroundQuery
from dpasp.logic.python import run_blocks, with_objects
from dpasp.logic.reading import read
from dpasp.logic.shown import shown_by
from dpasp.pictures.picture import Picture, drawn
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.names import leaf_names
from dpasp.shown import display
from dpasp.writing import check_ending, write_text

if TYPE_CHECKING:
    from dpasp.circuits import Circuit, Plan
    from dpasp.learning.history import History, Watcher
    from dpasp.learning.trainable import Trainable
    from dpasp.neural.module import ProgramModule

NO_LIMITS = Limits()
OPEN_CODES = {"undef-two-valued", "credal-under-maxent"}  # other semantics may be asked for
REMEMBERED = 4  # ground programs that are kept, by the questions they were ground with


@dataclass(frozen=True, slots=True)
class Checked:
    """The program with the questions that are asked of it, checked under a meaning."""

    program: ast.Program
    meaning: Meaning
    key: tuple[tuple[str, ...], tuple[str, ...]]  # the questions and the evidence that were added


@dataclass(frozen=True, slots=True)
class Grounded:
    """A ground program, and how long it took."""

    program: GroundProgram
    seconds: float


class Program:
    """A program that can be asked.

    Nothing runs when it is made; it is ground when it is first asked, and ``#python``
    blocks run then, if ``python`` allows them.
    """

    def __init__(
        self,
        source: ast.Program,
        *,
        python: bool = False,
        constants: Mapping[str, object] | None = None,
        objects: Mapping[str, object] | None = None,
    ) -> None:
        """``objects`` are those of the calling program by the names after ``@``."""
        _need_source(source)
        self.objects = dict(objects or {})
        self.source = replace(source, given=frozenset(self.objects))
        self.python = python
        self.constants = {name: str(value) for name, value in (constants or {}).items()}
        self._texts: tuple[tuple[str, str], ...] = ()
        self._module: ModuleType | None = None
        self._trainable: Trainable | None = None
        self._history: History | None = None
        self._grounder: Grounder | None = None
        self._ends = False  # whether grounding is known to come to an end
        self._ground: OrderedDict[tuple[tuple[str, ...], ...], Grounded] = OrderedDict()
        self._problem = _refuse(self.source, self.constants)
        self._known: dict[object, Checked] = {}

    def __repr__(self) -> str:
        files = ", ".join(self.source.files)
        return f"<dpasp.Program {files}: {len(self.source.statements)} statements>"

    # More than six parameters: they are the keywords of the public interface.
    def query(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        engine: str | Method | None = None,
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
        **options: float | None,
    ) -> Answers:
        """Return the answers to the queries, or to all questions of the program if none is given.

        Queries are texts such as ``"a, not b | c"``, or lists of them.
        ``evidence`` joins that of every query; ``semantics`` (as ``"lstable, maxent"``)
        wins over the program's. ``engine`` is auto, compile, enumerate, sample or bounds
        and wins over ``#inference``, as do its ``options``: ``n`` and ``seed`` of sample,
        ``gap`` and ``nmodels`` of bounds; total choices without a model are an error
        with ``inconsistent="error"``. ``data`` is used in place of the program's test data:
        the rows of each data atom, as ``{"input(0)": rows}``.

        Raises :class:`ProgramError` for a query that cannot be read,
        :class:`ImpossibleEvidence` and :class:`InconsistentProgram` where there is no
        answer, and :class:`LimitReached` at a limit.

        >>> program = loads("0.3::a. 0.5::b. c :- a. c :- b.")
        >>> print(program.query("a | c", "c", semantics="maxent"))
        ℙ(a | c) = 0.461538
        ℙ(c) = 0.650000
        """
        watch = started(limits, progress)
        checked = self._checked(queries_given(queries), evidence_given(evidence), semantics)
        how = method(checked.program, engine, options)
        return self._answers(self._asked(checked, watch, how, inconsistent, data))

    # More than six parameters: they are the keywords of the public interface.
    def map(
        self,
        question: str | None = None,
        *,
        evidence: object = (),
        semantics: str | None = None,
        engine: str | Method | None = None,
        inconsistent: str = "normalize",
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Answers:
        """Return the most probable values: of the atoms marked in ``"a?, b? | e"``, or of all
        choices.

        Where no atoms are named (``"| e"``, or nothing at all) it is the most probable total
        choice, as ``#mpe`` asks for; the program's own questions are not asked. It raises
        what :meth:`query` raises.

        >>> program = loads("0.3::a. 0.6::b. c :- a, b. #semantics maxent.")
        >>> program.map("a?, b? | not c")[0].assignment
        {'a': False, 'b': True}
        """
        watch = started(limits, progress)
        checked = self._checked((map_given(question),), evidence_given(evidence), semantics)
        how = method(checked.program, engine)
        return self._answers(self._asked(checked, watch, how, inconsistent))

    def sample(
        self,
        n: int = 1,
        *,
        given: object = (),
        semantics: str | None = None,
        seed: int | None = None,
        limits: Limits = NO_LIMITS,
    ) -> list[Assignment]:
        """Return ``n`` models, each as the values of its atoms: True, False or ``"undef"``.

        A total choice is drawn by its probability and one of its models evenly, as maxent
        weighs them; ``given`` joins the program's evidence, which all of them satisfy.
        Raises :class:`InferenceError` if no draw satisfies it.

        >>> loads("0.5::a. b :- not a.").sample(2, given="b")
        [{'a': False, 'b': True}, {'a': False, 'b': True}]
        """
        if n < 0:
            raise UsageError(f"{n} models cannot be sampled")
        asked = self._asked(self._checked((), evidence_given(given), semantics), started(limits))
        check_questions(replace(asked.ground, questions=()), "sampling")
        return sample_models(asked, n, seed=seed)

    def models(
        self,
        n: int | None = None,
        *,
        given: object = (),
        semantics: str | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Model]:
        """Return the models (``n`` at most) as they are found, the most probable choices first.

        ``given`` joins the program's evidence, which all of them satisfy; what ``#show``
        says is shown of each.

        >>> program = loads("0.3::a. b :- not a.")
        >>> [(str(model), model.probability) for model in program.models()]
        [('b', (0.7,)), ('a', (0.3,))]
        """
        watch = started(limits)
        shown = shown_by(self.source)
        showing = self._showing(shown.program)
        checked = showing._checked((), evidence_given(given), semantics)
        found = showing._grounded(checked, watch).program
        weights = self._weights(found, watch)
        asked = ask(found, checked.meaning, weights=weights, watch=watch).one_row()
        return islice(models(asked, shown), n)

    def _showing(self, source: ast.Program) -> Program:
        """This program with rules for what it shows, if there are any."""
        if source is self.source:
            return self
        program = Program(
            source, python=self.python, constants=self.constants, objects=self.objects
        )
        program._module = self._functions()
        return program

    def explain(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        top: int = TOP,
        target: float | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Explanations:
        """Return what is behind the answers to the queries, or to those of the program.

        The ``top`` most probable total choices, and what each choice contributes. The
        program's ``#map`` and ``#mpe`` are left out, with a warning.

        >>> program = loads("0.3::a. 0.5::b. c :- a. c :- b.")
        >>> program.explain("c")[0].ways[0].values
        ('not a', 'b')
        """
        checked = self._checked(queries_given(queries), evidence_given(evidence), semantics)
        asked = self._asked(checked, started(limits))
        return explain(asked, self._origins(checked, asked), top, target)

    def why_inconsistent(
        self,
        *,
        given: object = (),
        semantics: str | None = None,
        top: int = TOP,
        limits: Limits = NO_LIMITS,
    ) -> Inconsistencies:
        """Return what leaves no model: values of choices and rules, each of which is needed.

        The ``top`` most probable reasons; none if every total choice has a model. With
        evidence (``given`` joins the program's), what leaves no model that satisfies it.

        >>> program = loads("0.5::a. 0.4::b. 0.9::c. d :- a. :- d, b.")
        >>> reason = program.why_inconsistent()[0]
        >>> reason.values, reason.probability, [rule.text for rule in reason.rules]
        (('a', 'b'), 0.2, ['d :- a.', ':- d, b.'])
        """
        checked = self._checked((), evidence_given(given), semantics)
        asked = self._asked(checked, started(limits))
        return why_inconsistent(asked, self._origins(checked, asked), top)

    def _origins(self, checked: Checked, asked: Asked) -> Texts:
        """The rules of the program with their instances, which takes grounding it again."""
        functions = self._functions()
        grounder = Grounder(
            checked.program,
            constants=self.constants,
            python=functions,
            watch=asked.watch,
            origins=True,
        )
        found = grounder.ask(checked.program, asked.watch)
        return Texts.of(Traced(found, grounder.instances, asked.ground), self.constants)

    def _checked(
        self, questions: tuple[str, ...], evidence: tuple[str, ...], semantics: str | None
    ) -> Checked:
        """The program with these questions and this evidence; raises what is wrong with it."""
        key = (questions, evidence, semantics)
        known = self._known.get(key)
        if known is None:
            program = self._with(questions, evidence)
            if questions or evidence or semantics:
                check(program, semantics, self.constants, numbers=False)
            elif self._problem is not None:
                raise ProgramError(self._problem.diagnostics)
            meaning = Meaning(*effective_semantics(program, semantics))
            known = Checked(program, meaning, (questions, evidence))
            if len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = known
        return known

    def _asked(
        self,
        checked: Checked,
        watch: Watch,
        how: Method = Method(),  # noqa: B008 - frozen
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
    ) -> Asked:
        """What is asked of the ground program, with what was learned for weights."""
        found = self._grounded(checked, watch).program
        return ask(
            found,
            checked.meaning,
            weights=self._weights(found, watch, data),
            method=how,
            inconsistent=inconsistent,
            watch=watch,
        )

    def _answers(self, asked: Asked) -> Answers:
        """The answers, with what is known from grounding and learning."""
        answers = answer(asked)
        statistics = dict(answers.statistics)
        statistics["seconds"] = {"ground": self._seconds(asked), **statistics["seconds"]}
        learned, history = self._told()
        if self._trainable is not None and (labels := self._trainable.labels()):
            from dpasp.learning.accuracy import accuracies

            statistics["accuracy"] = accuracies(answers, labels)
        return replace(answers, statistics=statistics, learned=learned, history=history)

    def _seconds(self, asked: Asked) -> float:
        """How long grounding took."""
        known = (g.seconds for g in self._ground.values() if g.program is asked.ground)
        return next(known, 0.0)

    def __call__(self, semantics: str | None = None) -> NDArray[np.float64]:
        """Print the answers to the program's questions and give them back as an array."""
        answers = self.query(semantics=semantics)
        sys.stdout.write(f"{answers}\n" if len(answers) else "")
        return answers.to_numpy()

    # --- learning ------------------------------------------------------------------------------

    def module(
        self,
        semantics: str | None = None,
        objective: str = "midpoint",
        *,
        limits: Limits = NO_LIMITS,
    ) -> ProgramModule:
        """The program as a torch module.

        Program and module are two sides of one thing: the parameters of the module are those
        of the program, so what either learns, the other answers with, and ``save`` writes.
        ``objective`` says what P(O) is under credal: lower, upper or midpoint. ``limits`` hold
        for grounding, and for each compilation that the module does.

        >>> program = loads("?::a. #semantics maxent. #query a.")
        >>> model = program.module()
        >>> _ = program.learn([["a"], ["a"], ["a"], ["not a"]])
        >>> round(program.query()[0].value, 6), round(model.prob("a").item(), 6)
        (0.75, 0.75)
        """
        model = self._trained(started(limits), semantics, objective).model
        model.limits = limits
        return model

    # More than six parameters: they are the keywords of the public interface.
    def learn(
        self,
        observations: object = None,
        *,
        data: Mapping[str, object] | None = None,
        semantics: str | None = None,
        checkpoint: str | Path | None = None,
        periodic: bool = True,
        resume: str | Path | None = None,
        force: bool = False,
        limits: Limits = NO_LIMITS,
        watcher: Watcher | None = None,
        **options: Any,
    ) -> History:
        """Learn from observations, or from what ``#learn`` names; return what happened.

        Observations come in any shape that :mod:`dpasp.language.observations` reads. ``data`` is
        used in place of the program's train data, ``options`` (``lr``, ``niters``, ``alg``, …) in
        place of those of ``#learn``. Unfinished learning is kept
        in the file ``checkpoint``: after every iteration if ``periodic``, and when it is
        stopped; ``resume`` goes on from such a file, one of another program only by ``force``.

        Raises :class:`DataError` for observations that cannot be read or have probability 0,
        :class:`UsageError` for options that there are not, and :class:`LimitReached` at a limit.

        >>> coin = loads("?::heads. #semantics maxent. #query heads.")
        >>> history = coin.learn([{"heads": True}, {"heads": True}, {"heads": False}])
        >>> print(coin.query())
        ℙ(heads) = 0.666667
        """
        _need_torch()
        from dpasp.learning.history import unwatched
        from dpasp.learning.options import learn_options
        from dpasp.learning.train import HowToLearn
        from dpasp.learning.trainable import seeded

        how = HowToLearn(
            learn_options(self.source, options),
            None if checkpoint is None else Path(checkpoint),
            periodic,
            None if resume is None else Path(resume),
            started(limits),
            watcher or unwatched,
            force,
        )
        with seeded(how.options.seed):  # the first weights of a network depend on it
            trained = self._trained(how.watch, semantics, how.options.objective)
            self._history = trained.learn(observations, data, how)
        return self._history

    def save(self, path: str | Path) -> None:
        """Write what was learned to a file (safetensors); :meth:`restore` reads it."""
        self._trained().save(path)

    def restore(
        self, path: str | Path, *, force: bool = False, rules: Mapping[str, str] | None = None
    ) -> None:
        """Read what was learned from a file.

        What another program learned is refused, with the difference, unless ``rules`` says from
        which rule of the file each differing rule of this program takes its probabilities
        (``{"?::a.": "?::b."}``), or ``force`` that they are taken in their order.
        """
        self._trained().restore(path, force, rules)

    def learned(self) -> list[dict[str, Any]]:
        """Return the learned probabilities, one entry for each parameter.

        >>> loads("0.3?::a.").learned()[0]["values"]
        [0.3]
        """
        return self._trained().learned()

    def accuracy(
        self, query: str, labels: Iterable[str], data: Mapping[str, object] | None = None
    ) -> float:
        """Return how often the most probable answer to a query is the label of its test row.

        ``labels`` are texts such as ``"sum(3)"``, one a row; ``data`` is used in place of the
        program's test data.
        """
        return self._trained().accuracy(query, labels, data)

    def _trained(
        self, watch: Watch = UNLIMITED, semantics: str | None = None, objective: str | None = None
    ) -> Trainable:
        """The module and what belongs to it; the last one, unless another is asked for."""
        _need_torch()
        from dpasp.learning.trainable import Trainable
        from dpasp.logic.python import Python
        from dpasp.neural.module import Basis, ProgramModule

        meaning = Meaning(*effective_semantics(self.source, semantics))
        last = None
        if self._trainable is not None:
            last = self._trainable.model
            meaning = last.meaning if semantics is None else meaning
            objective = objective or last.objective
            if (meaning, objective) == (last.meaning, last.objective):
                return self._trainable
        python = Python(self.source, self._functions(), self.constants)
        found = self._grounded(self._unchecked((), meaning), watch).program
        basis = Basis(found, python, self._queries, self)
        model = ProgramModule(basis, meaning, objective or "midpoint", last)
        self._trainable = Trainable(model, python)
        return self._trainable

    def _queries(self, text: str, watch: Watch) -> list[GroundQuery]:
        """The ground queries that a text stands for."""
        checked = self._unchecked(queries_given((text,)))
        found = self._grounded(checked, watch).program.questions
        return [question for question in found if isinstance(question, GroundQuery)]

    def _told(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What was learned and how, for those who read the answers."""
        if self._trainable is None:
            return [], []
        return self._trainable.learned(), self._history.to_list() if self._history else []

    def _weights(
        self, found: GroundProgram, watch: Watch, data: Mapping[str, Any] | None = None
    ) -> NDArray[np.float64] | None:
        """The leaf weights that networks and learned parameters give; None: the program's own.

        ``data`` is used in place of the program's test data.
        """
        if self._trainable is None and not found.networks and not data:
            return None
        trained = self._trained(watch)
        # Ground once or again after an error: the choices, and so the leaves, are the same.
        assert found.choices == trained.model.ground.choices
        return trained.weights(given=data)

    def ground(self, *, limits: Limits = NO_LIMITS) -> GroundProgram:
        """Return the ground program with the program's own questions.

        >>> len(loads("n(1..3). 0.5::a(X) :- n(X).").ground().choices)
        3
        """
        return self._grounded(self._unchecked(()), started(limits)).program

    def plan(self, *, semantics: str | None = None, limits: Limits = NO_LIMITS) -> Plan:
        """Return what compiling would work on: choices, parts, estimated widths, what is tried.

        >>> program = loads("0.3::a. 0.5::b. c :- a, not b. #query c.")
        >>> program.plan().choices
        2
        """
        from dpasp.circuits import Plan, plan

        watch = started(limits)
        checked = self._checked((), (), semantics)
        found = self._grounded(checked, watch).program
        return Plan(len(found.choices), plan(found, checked.meaning, watch=watch))

    def circuit(
        self,
        *,
        semantics: str | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Circuit:
        """Return the circuit that answers the program's own questions, compiled or enumerated.

        >>> circuit = loads("0.3::a. 0.5::b. c :- a, not b. #query c.").circuit()
        >>> circuit.questions, circuit.leaves
        (1, 4)
        """
        watch = started(limits, progress)
        checked = self._checked((), (), semantics)
        found = self._grounded(checked, watch).program
        circuit = on_circuit(found, checked.meaning, watch=watch).circuit
        asked = tuple(question.text for question in found.questions)
        return replace(circuit, leaf_names=tuple(leaf_names(found)), question_names=asked)

    def plot(self, path: str | Path | None = None, *, limits: Limits = NO_LIMITS) -> Picture:
        """What depends on what: choices, rules, negations and loops; saved if there is a path.

        Atoms are drawn one by one, or in a large program their predicates; the file's name
        ends in .svg, or (by matplotlib) in .png or .pdf.
        """
        title = ", ".join(Path(file).name for file in self.source.files)
        return drawn(display("plot.program")(self.ground(limits=limits), title), path)

    def report(
        self, path: str | Path, *, semantics: str | None = None, limits: Limits = NO_LIMITS
    ) -> None:
        """Answer the program's questions and write a page (.html) about them.

        It holds the answers, their reasons, the dependencies, what was learned and the program
        itself, and opens anywhere.
        """
        check_ending(path, "a report", (".html", ".htm"))
        answers = self.query(semantics=semantics, limits=limits)
        write_text(path, display("report.report")(self, answers))

    def _grounded(self, checked: Checked, watch: Watch) -> Grounded:
        if checked.key in self._ground:
            self._ground.move_to_end(checked.key)
            return self._ground[checked.key]
        started = time.perf_counter()
        found = self._asked_grounder(checked, watch)
        self._ground[checked.key] = Grounded(found, time.perf_counter() - started)
        while len(self._ground) > REMEMBERED:
            self._ground.popitem(last=False)
        return self._ground[checked.key]

    def _asked_grounder(self, checked: Checked, watch: Watch) -> GroundProgram:
        """The ground program; under a limit the first time in a child, which can be stopped."""
        grounder, self._grounder = self._grounder, None  # after an error it is of no use
        functions = self._functions()
        limited = watch.limits.seconds is not None or watch.limits.megabytes is not None
        if grounder is None and limited and not self._ends and functions is None and can_fork():
            found = ground_in_child(checked.program, constants=self.constants, watch=watch)
            self._ends = True
            return found
        if grounder is None:
            grounder = Grounder(
                checked.program, constants=self.constants, python=functions, watch=watch
            )
        found = grounder.ask(checked.program, watch)
        self._grounder = grounder
        return found

    def _unchecked(self, questions: tuple[str, ...], meaning: Meaning = Meaning()) -> Checked:  # noqa: B008 - frozen
        """The program with these questions, for who does not answer them here."""
        return Checked(self._with(questions, ()), meaning, (questions, ()))

    def _with(self, questions: tuple[str, ...], evidence: tuple[str, ...]) -> ast.Program:
        """The program with other questions in place of its own (if given) and more evidence.

        Questions come last, so that all other statements keep their places.
        """
        asked = [s for s in self.source.statements if isinstance(s, ast.Query | ast.Map)]
        rest = [s for s in self.source.statements if not isinstance(s, ast.Query | ast.Map)]
        statements = (*rest, *asked) if not questions else tuple(rest)
        program = replace(self.source, statements=statements)
        for i, text in enumerate((*questions, *evidence), 1):
            program = extend(program, text, file="<query>" if i == 1 else f"<query {i}>")
        return program

    @property
    def functions(self) -> Mapping[str, Any]:
        """What the program's ``#python`` blocks define, by name; nothing if they may not run."""
        module = self._functions()
        return {} if module is None else vars(module)

    def _functions(self) -> ModuleType | None:
        if self._module is None:
            own = run_blocks(self.source) if self.python else None
            self._module = with_objects(own, self.objects)
        return self._module

    # --- copies --------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made of the texts, and of what was learned."""
        texts = self._texts or tuple(self.source.sources.items())
        learned = None if self._trainable is None else self._trainable.state()
        given = (self.python, self.constants, self.objects, dict(self.source.sources.reaches))
        return _again, (texts, given, learned, self._history)


def _again(
    texts: tuple[tuple[str, str], ...],
    given: tuple[bool, dict[str, str], dict[str, object], dict[str, Reach]],
    learned: tuple[str, str, dict[str, Any]] | None,
    history: History | None,
) -> Program:
    """A program from what was pickled."""
    python, constants, objects, reaches = given
    source = read(list(texts), reaches)
    program = Program(source, python=python, constants=constants, objects=objects)
    program._texts = texts
    if learned is not None:
        semantics, objective, tensors = learned
        program._trained(UNLIMITED, semantics, objective).model.load_state_dict(tensors)
    program._history = history
    return program


def _read(
    texts: list[tuple[str, str]], reaches: Mapping[str, Reach] | None = None, **given: Any
) -> Program:
    """The program of some named texts, with all that a caller gives with them."""
    source = read(texts, reaches)
    groups = {name: given.pop(name) for name in ("networks", "data", "functions")}
    program = Program(source, objects=caller_objects(source, groups), **given)
    program._texts = tuple(texts)
    return program


def load(
    *paths: str | Path,
    python: bool = True,
    constants: Mapping[str, object] | None = None,
    networks: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
) -> Program:
    """The program in some files.

    A file that you name may run its Python; a text may not, unless you say so. It runs when the
    program is asked, and not at all if ``python`` is false. The files may include and read what
    the user may read.

    ``constants`` win over the program's ``#const``. ``networks``, ``data`` and ``functions`` are
    objects of the calling program by the names after ``@``: modules, or functions that make
    them; tensors, arrays or lists of rows; functions. They win over what ``#python`` defines,
    and need no ``python=True``.
    """
    texts = [(name, load_text(name)) for name in map(path_given, paths)]
    return _read(
        texts,
        python=python,
        constants=constants,
        networks=networks,
        data=data,
        functions=functions,
    )


# More than six parameters: they are the keywords of the public interface.
def loads(
    text: str,
    *,
    file: str = "<program>",
    python: bool = False,
    folder: str | Path | None = None,
    constants: Mapping[str, object] | None = None,
    networks: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
) -> Program:
    """The program in a text, which may come from anywhere.

    A file that you name may run its Python; a text may not, unless you say so: its Python runs
    only if ``python`` is true, which says that the text is trusted. It reads
    files (``#include``, data, observations) only inside ``folder``, from where their names are
    taken; a trusted text without a folder reads any. The other arguments are those of
    :func:`load`.

    >>> program = loads("p(@f(3)). #query p(6).", functions={"f": lambda n: 2 * n})
    >>> print(program.query())
    ℙ(p(6)) = 1.000000
    """
    inside = None if folder is None else Path(path_given(folder))
    return _read(
        [(file, text_given(text, "a program"))],
        {file: Reach(inside, anywhere=python and inside is None)},
        python=python,
        constants=constants,
        networks=networks,
        data=data,
        functions=functions,
    )


def parse(source: str | Path, from_str: bool = False, *, python: bool | None = None) -> Program:
    """The program in a file, or with ``from_str`` in a text."""
    if from_str:
        return loads(text_given(source, "a program"), python=bool(python))
    return load(source, python=python is not False)


def _need_torch() -> None:
    """Say what to install where torch is missing."""
    from importlib.util import find_spec

    for name in ("torch", "safetensors"):
        if find_spec(name) is None:
            message = f"networks and learning need {name}, which is not installed"
            raise UsageError(
                Diagnostic("torch-missing", message, help="pip install 'dpasp[learn]'")
            )


def _need_source(source: object) -> None:
    """Say what to write where a text was given in place of a program that was read."""
    if not isinstance(source, ast.Program):
        help = "dpasp.loads(text) reads a program from a text, dpasp.load(path) from a file"
        raise UsageError(f"a {type(source).__name__} is no program that was read", help=help)


def _refuse(source: ast.Program, constants: Mapping[str, str]) -> ProgramError | None:
    """Raise what is wrong with a program; give back what another semantics may make right."""
    try:
        check(source, None, constants)
    except ProgramError as error:
        if any(problem.code not in OPEN_CODES for problem in error.diagnostics):
            raise
        return error
    return None
