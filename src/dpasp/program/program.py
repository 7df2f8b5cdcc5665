"""Programs for users: :func:`load` and :func:`loads` make a :class:`Program`.

Each method is a few lines over the parts that do the work; :class:`Groundings` and
:class:`TorchSide` hold what several of them share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from dpasp.cluster.pools import Cluster, open_pool
from dpasp.errors import Diagnostic, ImpossibleEvidence, LimitReached, UsageError, tell
from dpasp.ground.checking import program_of_texts
from dpasp.ground.columns import Columns
from dpasp.ground.program import GroundProgram
from dpasp.ground.python import caller_objects
from dpasp.ground.text import projected_by, shown_atoms, shown_by
from dpasp.ground.worlds import one_world
from dpasp.inference.answers import Answers, Assignment, Decision, Expectation, MapAnswers
from dpasp.inference.asked import TOP, Asked, Method, ask, evidence_rows, method
from dpasp.inference.circuit import on_circuit
from dpasp.inference.exact import answer
from dpasp.language import ast
from dpasp.language.arguments import (
    Rows,
    constants_given,
    decide_given,
    dictionary_given,
    evidence_and_rows,
    evidence_given,
    examples,
    expect_given,
    externals_given,
    is_table,
    list_given,
    map_given,
    queries_given,
    set_by_rows,
    share_given,
    text_given,
    whole_given,
)
from dpasp.language.statements.questions import asks_one
from dpasp.language.statements.semantics import with_semantics
from dpasp.language.text.source import Reach, load_text
from dpasp.limits import UNLIMITED, Limits, Report, Watch, before_any_answer, silent, started
from dpasp.program.grounding import Checked, Groundings
from dpasp.program.torch_side import Members, TorchSide, need_torch
from dpasp.semantics.leaves import leaf_names, with_learned
from dpasp.semantics.meaning import Meaning, Objective
from dpasp.writing import check_ending, counted, path_given, write_text

if TYPE_CHECKING:
    from dpasp.circuits import Circuit
    from dpasp.circuits.compiler import Plan
    from dpasp.circuits.functions.arithmetic import Arithmetic
    from dpasp.circuits.functions.on_jax import JaxFunction
    from dpasp.circuits.functions.on_numpy import Function
    from dpasp.display.scene import Picture
    from dpasp.inference.explain.explanation import Explanations, Inconsistencies
    from dpasp.inference.models import Model
    from dpasp.learning.history import History, Watcher
    from dpasp.learning.module import ProgramModule
    from dpasp.learning.shortcuts import Ensemble, Shortcuts
    from dpasp.learning.trainable import LearnedState

NO_LIMITS = Limits()
# Options of #learn that learning for utility obeys.
WITH_UTILITY = ("batch", "device", "display", "lr", "niters", "seed", "shuffle")


class Program:
    """A program that can be asked; :func:`dpasp.load` and :func:`dpasp.loads` make one.

    It is ground when it is first asked. If ``python`` allows them, ``#python`` blocks run then.
    """

    def __init__(
        self,
        source: ast.Program,
        *,
        python: bool = False,
        constants: Mapping[str, object] | None = None,
        objects: Mapping[str, object] | None = None,
        semantics: str | None = None,
        externals: Mapping[str, object] | None = None,
    ) -> None:
        """``objects`` are the caller's, by the names after ``@``; see :func:`load`."""
        given: object = source
        if not isinstance(given, ast.Program):  # such as its text
            help = "dpasp.loads(text) reads a program from a text, dpasp.load(path) from a file"
            message = f"expected a parsed program, not a {type(given).__name__}"
            raise UsageError(message, help)
        named = dictionary_given(objects, "objects", '{"net": network}')
        self.objects = {text_given(name, "a name after @"): it for name, it in named.items()}
        self.semantics = semantics
        source = with_semantics(source, semantics)
        self.source = replace(
            source, supplied=frozenset(self.objects), externals=externals_given(externals)
        )
        self.python = python
        self.constants = constants_given(constants)
        self._texts: tuple[tuple[str, str], ...] = ()
        self._groundings = Groundings(
            self.source, python=python, constants=self.constants, objects=self.objects
        )
        self._warnings = self.source.warnings
        self._told: set[Diagnostic] = set()  # warnings about its rules already issued

    @cached_property
    def _torch(self) -> TorchSide:
        return TorchSide(self._groundings, ref(self), self._told)

    @property
    def _has_module(self) -> bool:
        """Whether there is a torch module, which may have learned something."""
        return "_torch" in vars(self) and self._torch.made is not None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings about the program from reading it and from the last grounding.

        Loading and asking the program also issue these as :class:`dpasp.ProgramWarning`.

        >>> loads("0.3::a. b :- a.").warnings
        ()
        """
        return self._warnings

    def _doubted(self, ground: GroundProgram) -> GroundProgram:
        """Keep and issue the warnings of a ground program; return it."""
        self._warnings = ground.warnings
        tell(ground.warnings, self._told)
        return ground

    def _tell_more(self, warnings: Iterable[Diagnostic]) -> None:
        """Issue the warnings about answers that were not issued with their questions."""
        tell((w for w in warnings if w not in self._warnings), self._told)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Add to impossible evidence the warnings about atoms that nothing derives."""
        try:
            yield
        except ImpossibleEvidence as error:
            doubts = (warning for warning in self._warnings if warning.code == "unknown-atom")
            raise ImpossibleEvidence((*error.diagnostics, *doubts)) from error.__cause__

    def __repr__(self) -> str:
        files = ", ".join(self.source.files)
        return f"<dpasp.Program {files}: {counted(len(self.source.statements), 'statement')}>"

    def query(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        engine: str | Method | None = None,
        exact: bool = False,
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
        criterion: str | None = None,
        externals: Mapping[str, object] | None = None,
        cluster: Cluster = None,
        device: str | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
        **options: float | None,
    ) -> Answers:
        """Return the answers to the queries, or to all questions of the program if none is given.

        Queries are texts such as ``"a, not b | c"``, or lists of them. The arguments have the same
        meaning in all methods:

        - ``evidence`` is added to that of every query: a text, a dictionary, or a table with a row
          for each case (a DataFrame, a list of dictionaries, a dictionary of columns, or the
          ``Path`` of a .csv file). With a table, every answer has a number for each row, NaN if the
          row's evidence is impossible.
        - ``semantics``, such as ``"lstable, maxent"``, overrides the program's.
        - ``engine`` (auto, compile, enumerate, sample or bounds) overrides ``#inference``, as do
          its ``options``: ``n`` and ``seed`` of sample, ``gap`` and ``nmodels`` of bounds.
        - ``inconsistent="error"`` makes total choices without a model an error.
        - ``data`` replaces the program's test data: the rows of each data atom, as in
          ``{"input(0)": rows}``.
        - If ``limits`` leave auto no time for exact answers, the answers are estimates within
          certain intervals (from 0 to 1 if there was no time to ground the program), with a
          warning; with ``exact`` this is an error.
        - ``externals`` sets atoms that ``#external`` declares: ``{"sensor(1)": True}``. A row of a
          table of evidence sets those that it names.
        - ``criterion`` says how ``#decide`` decides under credal, as in :meth:`decide`.
        - ``cluster`` shares the work: ``"local"`` means one process per core, a number that many
          processes, and an address the machines of a Ray cluster. The answers stay the same.
        - ``device`` is where the rows of a table are evaluated if one circuit answers for all of
          them: ``"cpu"``, ``"cuda"``, or ``"auto"`` (a GPU if there is one).

        Raises :class:`ProgramError` for a query that cannot be read, :class:`ImpossibleEvidence` or
        :class:`InconsistentProgram` if there is no answer, and :class:`LimitReached` at a limit
        that leaves no answer.

        >>> program = loads("0.3::a. 0.5::b. c :- a. c :- b.")
        >>> print(program.query("a | c", "c", semantics="maxent"))
        ℙ(a | c) = 0.461538
        ℙ(c) = 0.650000
        >>> program.query("a", evidence={"c": [True, False]}, semantics="maxent")[0].value.round(3)
        array([0.462, 0.   ])
        """
        watch = started(limits, progress)
        texts = queries_given(queries)
        checked, rows = self._checked(texts, evidence, externals, semantics, watch)
        if criterion is not None and not any(
            isinstance(statement, ast.Decide | ast.Decision)
            for statement in checked.program.statements
        ):
            help = "leave it out, or ask #decide"
            raise UsageError("a criterion is for #decide, and nothing here is decided", help=help)
        with nullcontext() if cluster is None else open_pool(cluster) as pool:
            how = method(checked.program, engine, options, exact, pool)
            narrow = how.compiles and data is None and not self._has_module and rows is None
            if watch.limited and rows is None:
                unknown = self._not_ground(checked, watch, how, narrow)
                if unknown:
                    return unknown
            asked = self._asked(checked, watch, how, inconsistent, data, rows, narrow, how.sums)
            if device not in (None, "cpu"):
                if asked.rows is None:
                    help = "leave it out; module().to(device) evaluates rows of data there"
                    raise UsageError("device= is for tables of evidence", help=help)
                need_torch()
                asked = replace(
                    asked, rows=replace(asked.rows, device=text_given(device, "a device"))
                )
            return self._answers(replace(asked, criterion=criterion))

    def marginals(
        self,
        *,
        evidence: object = (),
        semantics: str | None = None,
        engine: str | Method | None = None,
        exact: bool = False,
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
        externals: Mapping[str, object] | None = None,
        cluster: Cluster = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
        **options: float | None,
    ) -> Answers:
        """Return the probability of every atom that the program shows, given the evidence.

        Without ``#show``, these are all atoms. The program's own questions are not answered.

        >>> print(loads("0.3::a. b :- not a. #semantics maxent.").marginals(evidence="b"))
        ℙ(a) = 0.000000
        ℙ(b) = 1.000000
        """
        watch = started(limits, progress)
        shown = shown_by(self.source)
        checked, rows = self._checked((), evidence, externals, semantics, watch, shown.program)
        with open_pool(cluster) as pool:
            how = method(checked.program, engine, options, exact, pool)
            asked = self._asked(checked, watch, how, inconsistent, data, rows, summed=how.sums)
            return self._answers(replace(asked, ground=shown_atoms(asked.ground, shown)))

    def predict(self, table: object, query: str, **options: Any) -> Any:
        """Return the probabilities of a query's answers for every row of a table.

        The result is a DataFrame (of polars if the table is one, otherwise of pandas) with the
        table's rows and a column for each value of the query's variable or, with several variables,
        for each atom; under credal there are two, such as ``yes_lower`` and ``yes_upper``.

        >>> program = loads("0.4::s(yes); 0.6::s(no). 0.9::w :- s(yes). 0.1::w :- s(no).")
        >>> print(program.predict({"w": [True, False]}, "s(X)", semantics="maxent").round(3))
              no    yes
        0  0.143  0.857
        1  0.931  0.069
        """
        if isinstance(table, Iterator):
            table = list(table)
        if not is_table(table):
            help = 'pass a DataFrame, a list of dictionaries, or {"column": [values]}'
            raise UsageError(f"a {type(table).__name__} is not a table", help)
        answers = self.query(text_given(query, "a query"), evidence=table, **options)
        from dpasp.display.answers import predicted

        return predicted(answers, query, table)

    def map(
        self,
        question: str | None = None,
        *,
        evidence: object = (),
        semantics: str | None = None,
        engine: str | Method | None = None,
        exact: bool = False,
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Answers | MapAnswers:
        """Return the most probable values: of atoms, as in ``"a?, b? | e"``, or of all choices.

        If no atoms are named (``"| e"``, or no question), it is the most probable total choice, as
        with ``#mpe``. If ``limits`` stop the search, the answer is the best one found, with an
        upper bound (``most``) and a warning; with ``exact`` this is an error. With rows of test
        data or of a table of evidence, there is a :class:`MapAnswer` for each.

        >>> program = loads("0.3::a. 0.6::b. c :- a, b. #semantics maxent.")
        >>> program.map("a?, b? | not c")[0].assignment
        {'a': False, 'b': True}
        """
        watch, texts = started(limits, progress), (map_given(question),)
        checked, rows = self._checked(texts, evidence, externals, semantics, watch)
        how = method(checked.program, engine, exact=exact)
        asked = self._asked(checked, watch, how, inconsistent, data, rows, summed=how.sums)
        answers = self._answers(asked)
        if len(answers) == 1 and isinstance(found := answers[0], MapAnswers):
            return found
        return answers

    def decide(
        self,
        question: str | None = None,
        *,
        evidence: object = (),
        data: Mapping[str, Any] | None = None,
        criterion: str | None = None,
        semantics: str | None = None,
        engine: str | Method | None = None,
        exact: bool = False,
        inconsistent: str = "normalize",
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Decision | list[Decision]:
        """Return the best strategy: the one with the largest expected utility.

        With a question such as ``"goal | e"``, it is the one that makes the goal most probable and,
        among those, takes the fewest atoms; ``"| e"`` is only evidence. Under credal the
        ``criterion`` says which value counts: ``"maximin"`` (the default) the lower one,
        ``"maximax"`` the upper one; ``"interval dominance"``, ``"maximality"`` and
        ``"E-admissibility"`` leave several ``strategies``. With rows of data or evidence, the
        result is a list with a decision for each row.

        If ``limits`` stop the search, the decision is the best one found, with an upper bound
        (``most``) and a warning; with ``exact`` this is an error. Raises :class:`ProgramError` for
        a program without decisions or utilities.

        >>> program = loads("0.3::rain. #decision {umbrella}. wet :- rain, not umbrella. "
        ...     "#utility 100 : not wet. #utility -10 : umbrella. #semantics maxent.")
        >>> program.decide()
        max 𝔼 = 90.000000 at umbrella
        """
        from dpasp.inference.decide import decided

        watch, texts = started(limits, progress), (decide_given(question),)
        checked, rows = self._checked(texts, evidence, externals, semantics, watch)
        how = method(checked.program, engine, exact=exact)
        asked = self._asked(checked, watch, how, inconsistent, data, rows)
        with self._naming():
            found, warnings = decided(asked, criterion)
        self._tell_more(warnings)
        return list(found) if asked.has_rows or rows is not None else found[0]

    def expect(
        self,
        question: str,
        *,
        evidence: object = (),
        data: Mapping[str, Any] | None = None,
        semantics: str | None = None,
        engine: str | Method | None = None,
        exact: bool = False,
        inconsistent: str = "normalize",
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
        **options: float | None,
    ) -> Expectation:
        """Return the expected total of a value over all ways to satisfy the literals.

        In a program with decisions, this is the total under the best strategy.

        >>> program = loads("0.5::c(1..4). n(N) :- N = #count{X : c(X)}. #semantics maxent.")
        >>> program.expect("N : n(N)")
        𝔼(N : n(N)) = 2.000000
        """
        watch, texts = started(limits, progress), (expect_given(question),)
        checked, rows = self._checked(texts, evidence, externals, semantics, watch)
        how = method(checked.program, engine, options, exact)
        answer = self._answers(self._asked(checked, watch, how, inconsistent, data, rows))[0]
        assert isinstance(answer, Expectation)
        return answer

    def log_partition(
        self,
        *,
        evidence: object = (),
        semantics: str | None = None,
        data: Mapping[str, Any] | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> float | NDArray[np.float64]:
        """Return the logarithm of the total weight of all models, under ``weighted``.

        Only models that satisfy the evidence count; without any, it is -inf. With rows of data,
        there is a number for each. Under credal, every total choice with such a model counts once,
        with its probability.

        >>> round(loads("{a; b}. #factor 3 : a.").log_partition(), 6)  # log 8
        2.079442
        """
        from dpasp.inference.exact import log_partition

        watch = started(limits, progress)
        checked, _ = self._checked((), evidence, externals, semantics, watch, one_row=True)
        asked = self._asked(checked, watch, data=data, summed=True)
        logs = log_partition(asked)
        return logs if asked.has_rows else float(logs[0])

    def sample(
        self,
        n: int = 1,
        *,
        given: object = (),
        semantics: str | None = None,
        seed: int | None = None,
        intervals: str | None = None,
        externals: Mapping[str, object] | None = None,
        cluster: Cluster = None,
        limits: Limits = NO_LIMITS,
    ) -> list[Assignment]:
        """Return ``n`` models, each as the values of its atoms: True, False or ``"undef"``.

        A total choice is drawn by its probability, and then one of its models uniformly, as under
        maxent; under weighted, a model is drawn by its weight. All models satisfy the evidence of
        the program and ``given``. The same seed gives the same models. For intervals of
        probabilities, ``intervals`` says what to draw with: ``"middle"``, or ``"lower"`` or
        ``"upper"``, which give each value of a choice in turn the least or the most that it can
        have. Raises :class:`InferenceError` if no draw satisfies the evidence.

        >>> loads("0.5::a. b :- not a.").sample(2, given="b")
        [{'a': False, 'b': True}, {'a': False, 'b': True}]
        """
        from dpasp.inference.sampling.draws import sample_models, without_intervals

        n = whole_given(n, "the number of samples")
        seed = None if seed is None else whole_given(seed, "the seed")
        watch = started(limits)
        checked, _ = self._checked((), given, externals, semantics, watch, one_row=True)
        asked = without_intervals(self._under_best(self._asked(checked, watch)), intervals)
        with open_pool(cluster) as pool:
            asked = replace(asked, method=replace(asked.method, pool=pool))
            with self._naming():
                return sample_models(asked, n, seed=seed)

    def models(
        self,
        n: int | None = None,
        *,
        best: int | None = None,
        given: object = (),
        semantics: str | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Model]:
        """Yield the models (at most ``n``) as they are found, the most probable choices first.

        All satisfy the evidence of the program and ``given``; ``#show`` says which atoms are shown.
        ``#project`` hides others, and models of a total choice that differ only in hidden atoms
        count as one. ``best`` asks for that many of the most probable models, each with its own
        probability; models that show the same atoms count as one. For both numbers, 0 means all.

        >>> program = loads("0.3::a. b :- not a.")
        >>> [(str(model), model.probability) for model in program.models()]
        [('b', (0.7,)), ('a', (0.3,))]
        """
        from dpasp.inference.models import best_models, models

        if n is not None:
            n = whole_given(n, "the number of models") or None
        if best is not None:
            best = whole_given(best, "the number of the best")
        shown, watch = projected_by(self.source), started(limits)
        checked, _ = self._checked(
            (), given, externals, semantics, watch, shown.program, one_row=True
        )
        asked = self._under_best(self._asked(checked, watch).one_row())
        if best is not None:
            return islice(best_models(asked, shown, best or None), n)
        return islice(models(asked, shown), n)

    def explain(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        top: int = TOP,
        target: float | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Explanations:
        """Return the reasons for the answers to the queries, or to the program's own.

        These are the ``top`` most probable choices that make a query hold, why it holds in one
        model and not in another, what each choice contributes, and how the answer changes with
        each number of the program; with a ``target``, what that number must be for the answer to
        be the target. The program's ``#map`` and ``#mpe`` are left out, with a warning.

        >>> why = loads("0.3::a. 0.5::b. 0.9::d. c :- a. c :- b.").explain("c")[0]
        >>> [(way.values, way.probability) for way in why.ways]
        [(('b',), 0.5), (('a',), 0.3)]
        """
        top = whole_given(top, "the number of ways")
        target = None if target is None else share_given(target, "a target")
        watch, texts = started(limits), queries_given(queries)
        checked, _ = self._checked(texts, evidence, externals, semantics, watch, one_row=True)
        asked = self._asked(checked, watch)
        one_world(asked.ground)
        asked = self._under_best(asked)
        from dpasp.inference.explain.reasons import explain

        plain = checked
        if checked.meaning.weighted:  # rules are traced in the program without weights
            plain = replace(checked, meaning=Meaning(checked.meaning.logic))
        with self._naming():
            explained = explain(asked, checked.groundings.origins(plain, watch), top, target)
        self._tell_more(explained.warnings)
        return explained

    def why_inconsistent(
        self,
        *,
        given: object = (),
        semantics: str | None = None,
        top: int = TOP,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Inconsistencies:
        """Return why some total choices have no model: minimal sets of chosen values and rules.

        These are the ``top`` most probable reasons; none if every total choice has a model. With
        evidence (``given`` is added to the program's), they say why no model satisfies it. Under
        weighted, a factor of 0 leaves no model where it applies.

        >>> reason = loads("0.5::a. 0.4::b. 0.9::c. :- a, b.").why_inconsistent()[0]
        >>> reason.values, reason.probability, [rule.text for rule in reason.rules]
        (('a', 'b'), 0.2, [':- a, b.'])
        """
        top = whole_given(top, "the number of reasons")
        watch = started(limits)
        checked, _ = self._checked((), given, externals, semantics, watch, one_row=True)
        weighted = checked.meaning.weighted
        if weighted:  # weights do not matter here unless they are 0
            checked = replace(checked, meaning=Meaning(checked.meaning.logic))
        asked = self._asked(checked, watch)
        from dpasp.inference.explain.ways import why_inconsistent

        return why_inconsistent(asked, checked.groundings.origins(checked, watch), top, weighted)

    def _under_best(self, asked: Asked) -> Asked:
        """What is asked, with the best decisions taken if there are any; issues a warning then."""
        if not asked.ground.decisions:
            return asked
        from dpasp.inference.answers import strategy_text
        from dpasp.inference.decide import under_best

        changed, strategy = under_best(asked)
        message = f"the program has decisions: this is under {strategy_text(strategy or {})}"
        help = "the best strategy; write what is decided as facts to see another"
        self._tell_more([Diagnostic("under-strategy", message, None, help, severity="warning")])
        return changed

    def _checked(
        self,
        questions: tuple[str, ...],
        evidence: object,
        externals: Mapping[str, object] | None,
        semantics: str | None,
        watch: Watch,
        source: ast.Program | None = None,
        one_row: bool = False,
    ) -> tuple[Checked, Rows | None]:
        """What is asked, checked, and the rows of a table of evidence, if that may be given.

        Evidence may also set external atoms: a dictionary sets them once, the rows of a table each
        separately, so the atoms become choices. ``source`` is the program with more rules.
        """
        groundings = self._groundings.showing(source or self.source)
        if isinstance(evidence, Mapping) and not is_table(evidence):
            declared = self._externals(self._groundings, watch)
            atoms = {str(atom): value for atom, value in evidence.items()}
            said = {a: v for a, v in atoms.items() if a in declared and v is not None}
            evidence = {atom: v for atom, v in evidence.items() if str(atom) not in declared}
            externals = {**said, **(externals or {})} if said else externals
        given: tuple[str, ...] = ()
        rows: Rows | None = None
        if not (isinstance(evidence, tuple) and not evidence):
            columns = self._groundings.columns(watch)
            if one_row:
                given = evidence_given(evidence, columns)
            else:
                given, rows = evidence_and_rows(evidence, columns)
        groundings = groundings.setting(externals_given(externals))
        if rows is not None and (declared := self._externals(groundings, watch)):
            named, rows = set_by_rows(rows, declared)
            groundings = groundings.setting(tuple((atom, "chance") for atom in named))
        return groundings.checked(questions, given, semantics), rows

    def _externals(self, groundings: Groundings, watch: Watch) -> dict[str, str]:
        """The external atoms that the program declares, with their values."""
        if not self.source.sources.holds("#external"):
            return {}
        ground = groundings.unchecked(()).ground(watch)
        return {str(symbol): value for symbol, value in ground.externals.items()}

    def _asked(
        self,
        checked: Checked,
        watch: Watch,
        how: Method = Method(),  # noqa: B008 - frozen
        inconsistent: str = "normalize",
        data: Mapping[str, Any] | None = None,
        rows: Rows | None = None,
        narrow: bool = False,
        summed: bool = False,
    ) -> Asked:
        """The questions to the ground program, with learned weights if there are any."""
        with before_any_answer():
            ground = checked.ground(watch, narrow=narrow, summed=summed and rows is None)
        self._doubted(ground)

        def one(ground: GroundProgram) -> Asked:
            weights = None
            if self._has_module or ground.networks or data is not None:
                weights = self._torch.weights(ground, watch, data)
                ground = self._torch.with_intervals(ground, checked.meaning)
            return ask(
                ground,
                checked.meaning,
                weights=weights,
                method=how,
                inconsistent=inconsistent,
                watch=watch,
                rows=evidence_rows(rows, ground, checked.meaning),
            )

        asked, others = one(ground), tuple(map(one, ground.worlds))
        return replace(asked, worlds=others) if others else asked

    def _not_ground(
        self, checked: Checked, watch: Watch, how: Method, narrow: bool
    ) -> Answers | None:
        """Ground the program; return answers instead if a limit stops that and there are some."""
        from dpasp.inference import exact

        if not exact.says_something(checked.program, how):
            return None
        try:
            checked.ground(exact.for_grounding(watch), narrow=narrow, summed=how.sums)
        except LimitReached as limit:
            why = exact.before_any_bound(limit, grounding=True)
            unknown = exact.nothing_sure(checked.program, checked.meaning, why)
            tell(unknown.warnings, self._told)
            return unknown
        return None

    def _answers(self, asked: Asked) -> Answers:
        """The answers, with the time taken by grounding and what was learned."""
        if (told := asked.watch.limits.asked) is not silent:
            told([question.text for question in asked.questions])
        with self._naming():
            answers = answer(asked)
        self._tell_more(answers.warnings)
        statistics = dict(answers.statistics)
        statistics["seconds"] = {"ground": asked.ground.seconds, **statistics["seconds"]}
        learned, history = list[dict[str, Any]](), list[dict[str, Any]]()
        if self._has_module and (made := self._torch.made) is not None:
            if test := made.labels():
                from dpasp.learning.history import accuracies

                statistics["accuracy"] = accuracies(answers, test)
            learned = made.learned()
            history = self._torch.history.to_list() if self._torch.history else []
        labels = None if asked.rows is None else asked.rows.table.index
        if labels is not None and any(isinstance(answer, MapAnswers) for answer in answers):
            every = tuple(
                replace(answer, row_labels=labels) if isinstance(answer, MapAnswers) else answer
                for answer in answers
            )
            answers = replace(answers, answers=every)
        return replace(
            answers, statistics=statistics, learned=learned, history=history, row_labels=labels
        )

    def __call__(self, semantics: str | None = None) -> NDArray[np.float64]:
        """Print the answers to the program's questions; return them as an array.

        Its shape is [answers] under maxent and [answers, 2] under credal, with one more dimension
        if there are several rows of test data.
        """
        answers = self.query(semantics=semantics)
        sys.stdout.write(f"{answers}\n" if len(answers) else "")
        return answers.to_numpy()

    # --- learning ------------------------------------------------------------------------------

    def module(
        self,
        semantics: str | None = None,
        objective: str = "midpoint",
        *,
        weight: float | None = None,
        limits: Limits = NO_LIMITS,
    ) -> ProgramModule:
        """Return the program as a torch module.

        Program and module share their parameters: what either learns, the other uses in its
        answers, and ``save`` writes. ``objective`` says what P(O) is under credal: lower, upper,
        midpoint or hurwicz, in which the lower probability has the share ``weight``. ``limits``
        hold for grounding and for each compilation of the module.

        >>> model = loads("0.3?::a. #semantics maxent.").module()
        >>> round(model.prob("a").item(), 6), len(list(model.parameters()))
        (0.3, 1)
        """
        goal = Objective(objective, weight)
        watch, side = started(limits), self._torch
        if side.made is not None and semantics is not None:  # refused if intervals were learned
            side.with_intervals(side.made.model.ground, Meaning.of(self.source, semantics))
        model = side.trainable(watch, semantics, goal).model
        model.limits = limits
        self._warnings = model.ground.warnings
        return model

    def learn(
        self,
        observations: object = None,
        *,
        data: Mapping[str, object] | None = None,
        maximise: str = "likelihood",
        semantics: str | None = None,
        checkpoint: str | Path | None = None,
        periodic: bool = True,
        resume: str | Path | None = None,
        force: bool = False,
        limits: Limits = NO_LIMITS,
        watcher: Watcher | None = None,
        **options: Any,
    ) -> History:
        """Learn from observations, or from those that ``#learn`` names; return the history.

        Observations may have any form that :mod:`dpasp.language.arguments` reads. ``data``
        replaces the program's training data, and ``options`` (``lr``, ``niters``, ``alg``, …) those
        of ``#learn``. Unfinished learning is kept in the file ``checkpoint``: after every
        iteration if ``periodic``, and when it is stopped. ``resume`` continues from such a file,
        with ``force`` even from another program's.

        With ``maximise="utility"``, the expected utility is maximised in place of the likelihood,
        by gradient ascent; observations, one for each row, are then its evidence. In a program with
        decisions, the best ones are taken for every row.

        Raises :class:`DataError` for observations that cannot be read or have probability 0,
        :class:`UsageError` for unknown options, and :class:`LimitReached` at a limit.

        >>> coin = loads("?::heads. #semantics maxent. #query heads.")
        >>> history = coin.learn([{"heads": True}, {"heads": True}, {"heads": False}])
        >>> print(coin.query())
        ℙ(heads) = 0.666667
        """
        need_torch()
        from dpasp.learning.history import unwatched
        from dpasp.learning.options import learn_options
        from dpasp.learning.train import HowToLearn
        from dpasp.learning.trainable import seeded
        from dpasp.learning.utility import learn_utility

        if watcher is not None and not callable(watcher):
            raise UsageError(f"watcher is a function, not {watcher!r:.40}", "such as print")
        if maximise not in ("likelihood", "utility"):
            raise UsageError(f'maximise is "likelihood" or "utility", not {maximise!r}')
        utility = maximise == "utility"
        kept = {"checkpoint": checkpoint, "resume": resume}
        others = [*options, *(name for name, path in kept.items() if path is not None)]
        if utility and (other := next((o for o in others if o not in WITH_UTILITY), None)):
            help = f"it takes {', '.join(WITH_UTILITY)}"
            raise UsageError(f'maximise="utility" cannot be combined with {other}', help)
        how = HowToLearn(
            learn_options(self.source, options),
            None if checkpoint is None else Path(path_given(checkpoint)),
            periodic,
            None if resume is None else Path(path_given(resume)),
            started(limits),
            watcher or unwatched,
            force,
        )
        with seeded(how.options.seed):  # the initial weights of a network depend on it
            trainable = self._torch.trainable(how.watch, semantics, how.options.goal)
            model = trainable.model
            if utility:
                seen = None if observations is None else model.reader.read(observations)
                history = learn_utility(model, trainable.rows("train", data), seen, how)
            else:
                history = trainable.learn(observations, data, how)
        self._torch.history, self._warnings = history, model.ground.warnings
        return history

    def save(self, path: str | Path) -> None:
        """Write what was learned to a file (safetensors), which :meth:`restore` reads.

        Raises :class:`OutputError` if the file cannot be written.

        >>> loads("?::a.").save("a.safetensors")  # doctest: +SKIP
        """
        self._torch.trainable().save(path_given(path))

    def restore(
        self, path: str | Path, *, force: bool = False, rules: Mapping[str, str] | None = None
    ) -> None:
        """Read what was learned from a file.

        A file of another program is refused, and the error shows the difference, unless ``rules``
        says from which rule of the file each differing rule takes its probabilities (``{"?::a.":
        "?::b."}``), or ``force`` takes them in order. Raises :class:`DataError` for a file that is
        refused or cannot be read.

        >>> loads("?::a.").restore("a.safetensors")  # doctest: +SKIP
        """
        if rules is not None:
            rules = dictionary_given(rules, "rules", '{"?::a.": "?::b."}')
        self._torch.trainable().restore(path_given(path), force, rules)

    def ensemble(
        self,
        count: int,
        observations: object = None,
        *,
        cluster: Cluster = None,
        **options: Any,
    ) -> Ensemble:
        """Train ``count`` copies of the program, each from different initial weights; return them.

        ``options`` are those of :meth:`learn`; ``seed`` is that of the first copy. Networks must be
        given as functions that make them, so that each copy has its own; with a ``cluster``, the
        program must make them itself. Raises :class:`UsageError` for networks given as modules.

        >>> len(loads("?::a.").ensemble(2, [["a"]], niters=1))
        2
        """
        need_torch()
        from torch.nn import Module

        from dpasp.learning.shortcuts import Ensemble

        shared = next((name for name, it in self.objects.items() if isinstance(it, Module)), None)
        if shared is not None:
            help = f'networks={{"{shared}": lambda: …}}: a function that makes one'
            raise UsageError(f"all members of an ensemble would share the network {shared}", help)
        count = whole_given(count, "the number of members", least=1)
        first, watch = whole_given(options.pop("seed", 0), "the seed"), UNLIMITED
        if cluster is not None:
            if name := next(iter(self.objects), None):
                message = f"{name} is an object of this process, and cannot be sent to a cluster"
                help = "let the program make it: a function in #python, or @module:name"
                raise UsageError(message, help)
            watch = started(options.pop("limits", NO_LIMITS))
            if observations is not None and not isinstance(observations, str | Path):
                cells = Columns.of(self.ground())
                observations = [list(example) for example in examples(observations, cells=cells)]
        made_of = self.__reduce__()[1][0]  # copies without what was learned
        job, seeds = Members(made_of, observations, options), range(first, first + count)
        with open_pool(cluster) as pool, closing(pool.map(job, seeds, watch, fair=True)) as found:
            members = tuple(found)
        histories = [member._torch.history for member in members]
        logs = tuple(history[-1].log_likelihood if history else -inf for history in histories)
        return Ensemble(tuple(member.module() for member in members), members, logs)

    def shortcuts(self, observations: object = None) -> Shortcuts:
        """Return what observations (or those of ``#learn``) leave open about the networks' values.

        This is known before learning: which values are never told apart (``alike``), and which are
        possible with each observation (``settled``).

        >>> import torch
        >>> text = "?::c(X, {a, b}) as @net :- row(X). row(0..1) ~ train(@rows). "
        >>> text += "same :- c(0,V), c(1,V)."
        >>> given = {"networks": {"net": torch.nn.Softmax(1)}, "data": {"rows": [[[0.0]]]}}
        >>> print(loads(text, **given).shortcuts([["same"]]).alike[0])
        c(0,a) from c(0,b)
        """
        return self._torch.trainable().shortcuts(observations)

    def learned_program(self) -> str:
        """Return the program's text with what was learned in place of ``?``, and no ``#learn``.

        A rule with a parameter for each value of a key becomes one rule per value; learned
        intervals (``imprecise``) are written as intervals. Numbers have all their digits. The
        weights of networks are not included: :meth:`save` keeps them.

        >>> coin = loads("?::heads. % a coin\\n#query heads.")
        >>> _ = coin.learn([["heads"], ["not heads"]])
        >>> print(coin.learned_program(), end="")
        0.5::heads. % a coin
        #query heads.
        """
        return self._torch.trainable().learned_program()

    def learned(self) -> list[dict[str, Any]]:
        """Return the learned probabilities, one entry for each parameter.

        >>> loads("0.3?::a.").learned()[0]["values"]
        [0.3]
        """
        return self._torch.trainable().learned()

    def accuracy(
        self,
        query: str | Sequence[str],
        labels: Iterable[str],
        data: Mapping[str, object] | None = None,
    ) -> float:
        """Return the share of test rows whose most probable answer to a query is their label.

        ``labels`` are texts such as ``"sum(3)"``, one for each row.

        >>> import torch
        >>> text = "?::bit({0, 1}) as @net :- row(x). row(x) ~ test(@rows). #semantics maxent."
        >>> given = {"networks": {"net": torch.nn.Softmax(1)}, "data": {"rows": [[1.0, 9.0]]}}
        >>> loads(text, **given).accuracy("bit(V)", ["bit(1)"])
        1.0
        """
        need_torch()
        from dpasp.learning.history import share_right

        listed = list_given(labels, "labels")
        return share_right(self.query(query, data=data), listed)

    def ground(self, *, limits: Limits = NO_LIMITS) -> GroundProgram:
        """Return the ground program with the program's own questions.

        >>> len(loads("n(1..3). 0.5::a(X) :- n(X).").ground().choices)
        3
        """
        return self._doubted(self._groundings.unchecked(()).ground(started(limits)))

    def plan(self, *, semantics: str | None = None, limits: Limits = NO_LIMITS) -> Plan:
        """Return what compiling would involve: choices, parts, estimated widths, what is tried.

        >>> loads("0.3::a. 0.5::b. c :- a, not b. #query c.").plan().choices
        2
        """
        from dpasp.circuits import Options, plan
        from dpasp.circuits.compiler import Plan
        from dpasp.inference.decide import compiled
        from dpasp.inference.exact import compiler_options

        watch = started(limits)
        checked = self._groundings.checked((), (), semantics)
        narrow = not self._has_module
        ground = self._doubted(checked.ground(watch, narrow=narrow))
        options = compiler_options(ask(ground, checked.meaning)) if narrow else Options()
        asked = compiled(ground, checked.meaning)
        tried = plan(asked, checked.meaning, options=options, watch=watch)
        return Plan(len(ground.choices), tried)

    def circuit(
        self,
        *,
        semantics: str | None = None,
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Circuit:
        """Return the circuit that answers the program's own questions.

        >>> circuit = loads("0.3::a. 0.5::b. c :- a, not b. #query c.").circuit()
        >>> circuit.questions, circuit.leaves
        (1, 4)
        """
        watch = started(limits, progress)
        checked = self._groundings.checked((), (), semantics)
        ground = self._doubted(one_world(checked.ground(watch)))
        circuit = on_circuit(ground, checked.meaning, watch=watch).circuit
        asked = tuple(question.text for question in ground.questions)
        return replace(circuit, leaf_names=tuple(leaf_names(ground)), question_names=asked)

    # --- functions in other systems ------------------------------------------------------------

    def to_numpy(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Function:
        """Return the probability of the queries (or of the program's) as a function of its numbers.

        The function takes a dictionary of weights by name, numbers or arrays, and returns the
        logarithm of the probability; its method :meth:`~Function.prob` returns the probability, and
        :meth:`~Function.gradient` the derivatives (under credal, lower and upper). Missing names
        have the program's own or learned values.

        Raises :class:`UsageError` for intervals of probabilities and questions other than #query,
        :class:`ImpossibleEvidence` for evidence that no weights make possible, and
        :class:`ProgramError` for queries that cannot be read.

        >>> f = loads("0.3::a. 0.5::b. c :- a. c :- b. #semantics maxent.").to_numpy("a | c")
        >>> f.names, round(float(f.prob()), 6), f.prob({"a": [0.0, 1.0]}).tolist()
        (('a', 'b'), 0.461538, [0.0, 1.0])
        """
        from dpasp.circuits.functions import numpy_function

        return numpy_function(self._arithmetic(queries, evidence, semantics, limits, externals))

    def to_jax(
        self,
        *queries: str | Iterable[str],
        evidence: object = (),
        semantics: str | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> JaxFunction:
        """Return the same as :meth:`to_numpy` in JAX, for ``jit``, ``grad`` and ``vmap``.

        Needs dpasp[jax], and double precision: ``jax.config.update("jax_enable_x64", True)``.

        >>> f = loads("0.3::a. 0.5::b. c :- a. c :- b.").to_jax("a | c")  # doctest: +SKIP
        >>> jax.grad(f)({"a": 0.3, "b": 0.5})       # of log P(a | c)  # doctest: +SKIP
        """
        from dpasp.circuits.functions import jax_function

        return jax_function(self._arithmetic(queries, evidence, semantics, limits, externals))

    def export(
        self,
        path: str | Path,
        *queries: str | Iterable[str],
        to: str,
        evidence: object = (),
        semantics: str | None = None,
        externals: Mapping[str, object] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        """Write the function of :meth:`to_numpy` to a file for use in another system.

        ``to`` is ``"numpy"`` or ``"jax"`` (a .py file that needs that package but not dPASP),
        ``"onnx"`` (a .onnx model) or ``"c"`` (a .c file that needs the C library).

        >>> loads("0.3::a. b :- not a.").export("b.c", "b", to="c")  # doctest: +SKIP
        """
        from dpasp.circuits.functions import write_function

        write_function(self._arithmetic(queries, evidence, semantics, limits, externals), to, path)

    def _arithmetic(
        self,
        queries: tuple[str | Iterable[str], ...],
        evidence: object,
        semantics: str | None,
        limits: Limits,
        externals: Mapping[str, object] | None = None,
    ) -> Arithmetic:
        """The answers as arithmetic on the program's numbers, including learned ones."""
        from dpasp.circuits.functions.arithmetic import arithmetic, check_possible

        watch, texts = started(limits), queries_given(queries)
        checked, _ = self._checked(texts, evidence, externals, semantics, watch, one_row=True)
        ground = self._doubted(one_world(checked.ground(watch)))
        ground = self._torch.with_intervals(ground, checked.meaning)
        if not ground.questions:
            help = 'name one: program.to_numpy("a | b"), or dpasp export --query "a | b"'
            message = "there is no query to make a function of, or no atoms match it"
            raise UsageError(message, help)
        circuit = on_circuit(ground, checked.meaning, watch=watch).circuit
        learned = [] if self._torch.made is None else self._torch.made.learned()
        known = with_learned(ground, [entry["values"] for entry in learned])
        form = arithmetic(ground, circuit, known, single=asks_one(checked.program.statements))
        check_possible(form, ground)
        return form

    def plot(self, path: str | Path | None = None, *, limits: Limits = NO_LIMITS) -> Picture:
        """Return a picture of the dependencies: choices, rules, negations and loops.

        It shows the atoms or, for a large program, their predicates. It is saved to ``path``, if
        given, which ends in .svg or, with matplotlib, in .png or .pdf.

        >>> loads("0.3::a. b :- a.").plot().svg[:4]
        '<svg'
        """
        from dpasp.display.programs import dependencies_picture

        title = ", ".join(Path(file).name for file in self.source.files)
        return dependencies_picture(self.ground(limits=limits), title).saved(path)

    def report(
        self, path: str | Path, *, semantics: str | None = None, limits: Limits = NO_LIMITS
    ) -> None:
        """Answer the program's questions and write a page (.html) with the answers.

        It also has their reasons, the dependencies, what was learned and the program itself. Raises
        :class:`UsageError` for a path with another ending.

        >>> loads("0.3::a. #query a.").report("answers.html")  # doctest: +SKIP
        """
        check_ending(path, "a report", (".html", ".htm"))
        clock = replace(limits, since=started(limits).started)  # one set of limits for everything
        answers = self.query(semantics=semantics, limits=clock)
        from dpasp.display.report import report

        write_text(path, report(self, answers, limits=clock))

    @property
    def functions(self) -> Mapping[str, Any]:
        """What the program's ``#python`` blocks define, by name; empty if they may not run.

        >>> text = "#python\\ndef double(n):\\n    return 2 * n\\n#end."
        >>> loads(text, python=True).functions["double"](4)
        8
        """
        module = self._groundings.module()
        return {} if module is None else vars(module)

    # --- copies --------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the texts and what was learned."""
        texts = self._texts or tuple(self.source.sources.items())
        reaches = dict(self.source.sources.reaches)
        arguments = {
            "python": self.python,
            "constants": self.constants,
            "objects": self.objects,
            "semantics": self.semantics,
            "externals": dict(self.source.externals),
        }
        return copied, ((texts, reaches, arguments), self._torch.state(), self._torch.history)


def copied(
    made_of: tuple[tuple[tuple[str, str], ...], dict[str, Reach], dict[str, Any]],
    learned: LearnedState | None = None,
    history: History | None = None,
) -> Program:
    """The program that ``Program.__reduce__`` described."""
    texts, reaches, arguments = made_of
    program = Program(program_of_texts(list(texts), reaches), **arguments)
    program._texts = texts
    program._torch.set_state(learned)
    program._torch.history = history
    return program


def _read(
    texts: list[tuple[str, str]],
    reaches: Mapping[str, Reach] | None,
    objects: Mapping[str, Mapping[str, Any] | None],
    **arguments: Any,
) -> Program:
    """The program of named texts, with the objects that the caller passed by keyword."""
    source = program_of_texts(texts, reaches)
    program = Program(source, objects=caller_objects(source, objects), **arguments)
    program._texts = tuple(texts)
    tell(source.warnings, program._told)
    return program


def load(
    *paths: str | Path,
    python: bool = True,
    constants: Mapping[str, object] | None = None,
    networks: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
    semantics: str | None = None,
    externals: Mapping[str, object] | None = None,
) -> Program:
    """Return the program in some files.

    Their Python runs when the program is first asked, and not at all if ``python`` is false. The
    files may include and read whatever the user may read.

    ``constants`` override the program's ``#const``, and ``semantics``, such as
    ``"lstable, maxent"``, its ``#semantics``. ``externals``, such as ``{"sensor(1)": True}``, sets
    atoms that ``#external`` declares: True, False or ``"free"``. ``networks`` (modules, or
    functions that make them), ``data`` (tensors, arrays or lists of rows) and ``functions`` are the
    caller's objects by the names after ``@``. They override what ``#python`` defines, and need no
    ``python=True``. Raises :class:`ProgramError` with every mistake in the files.

    >>> load("coin.plp", constants={"p": 0.6}).query()  # doctest: +SKIP
    """
    texts = [(name, load_text(name)) for name in map(path_given, paths)]
    objects = {"networks": networks, "data": data, "functions": functions}
    arguments = {"constants": constants, "semantics": semantics, "externals": externals}
    return _read(texts, None, objects, python=python, **arguments)


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
    semantics: str | None = None,
    externals: Mapping[str, object] | None = None,
) -> Program:
    """Return the program in a text, which may come from anywhere.

    Unlike a file's, its Python runs only if ``python`` is true, which says that the text is
    trusted. It reads files (``#include``, data, observations) only inside ``folder``, to which
    their names are relative; a trusted text without a folder reads any. The other arguments are
    those of :func:`load`.

    >>> program = loads("p(@f(3)). #query p(6).", functions={"f": lambda n: 2 * n})
    >>> print(program.query())
    ℙ(p(6)) = 1.000000
    """
    inside = None if folder is None else Path(path_given(folder or "."))
    file = path_given(file)
    reaches = {file: Reach(inside, anywhere=python and inside is None)}
    texts = [(file, text_given(text, "a program"))]
    objects = {"networks": networks, "data": data, "functions": functions}
    arguments = {"constants": constants, "semantics": semantics, "externals": externals}
    return _read(texts, reaches, objects, python=python, **arguments)


def parse(source: str | Path, from_str: bool = False, *, python: bool | None = None) -> Program:
    """Return the program in a file, as :func:`load` does, or with ``from_str`` in a text.

    >>> parse("0.3::a. #query a.", from_str=True)()
    ℙ(a) = 0.300000
    array([[0.3, 0.3]])
    """
    if from_str:
        return loads(text_given(source, "a program"), python=bool(python))
    return load(source, python=python is not False)
