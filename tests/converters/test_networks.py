"""Networks come through with the answers of the tools that wrote them."""

from __future__ import annotations

import itertools
import json
import math
import os
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dpasp

ALARM = """
network alarm { }   // a classic
variable Burglary { type discrete[2] { True, False }; property a = b; }
variable Quake { type discrete[2] { True, False }; }
variable Alarm { type discrete[3] { loud, Soft, "not at all" }; }
// how often there are burglars
probability ( Burglary ) { table 0.01, 0.99; }
probability ( Quake ) { table 0.02, 0.98; }
probability ( Alarm | Burglary, Quake ) {
  (True, True) 0.9, 0.05, 0.05;   /* both */
  (True, False) 0.8, 0.1, 0.1;
  default 0, 0, 1;
}
"""


def answers(text: str, queries: list[str], evidence: str = "") -> list[float]:
    found = dpasp.loads(text).query(*queries, evidence=evidence or ())
    return [float(answer.value) for answer in found]


def test_a_network_reads_like_a_program() -> None:
    assert dpasp.convert(ALARM, "bif", from_str=True) == (
        """\
% converted from a Bayesian network
#semantics maxent.
% burglary is Burglary
% quake is Quake
% alarm is Alarm

% a classic

% how often there are burglars
0.01::burglary(true); 0.99::burglary(false).
0.02::quake(true); 0.98::quake(false).
% both
0.9::alarm(loud); 0.05::alarm(soft); 0.05::alarm("not at all") :- burglary(true), quake(true).
0.8::alarm(loud); 0.1::alarm(soft); 0.1::alarm("not at all") :- burglary(true), quake(false).
alarm("not at all") :- burglary(false), quake(true).
alarm("not at all") :- burglary(false), quake(false).
"""
    )


def random_network(seed: int) -> tuple[object, str]:
    """A network of five variables with up to three parents each, and one to ask about."""
    gum = pytest.importorskip("pyagrum")
    rng = Random(seed)
    names = ["a", "b", "c", "d", "e"]
    network = gum.BayesNet("net")
    for name in names:
        network.add(gum.LabelizedVariable(name, name, rng.choice([2, 2, 3])))
    for i, name in enumerate(names):
        for parent in rng.sample(names[:i], min(i, rng.randint(0, 3))):
            network.addArc(parent, name)
    gum.initRandom(seed + 1)
    network.generateCPTs()
    return network, rng.choice(names)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ending", ["bif", "bifxml", "uai"])
def test_networks_that_agrum_writes(seed: int, ending: str, tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    network, asked = random_network(seed)
    path = tmp_path / f"net.{ending}"
    gum.saveBN(network, str(path))
    text = dpasp.convert(path, "uai" if ending == "uai" else "bif")
    predicates = {n: f"x{network.idFromName(n)}" if ending == "uai" else n for n in "abcde"}  # type: ignore[attr-defined]
    for evidence in ({}, {"e": 1} if asked != "e" else {"a": 0}):
        inference = gum.LazyPropagation(network)
        inference.setEvidence(evidence)
        expected = inference.posterior(asked).tolist()
        queries = [f"{predicates[asked]}({i})" for i in range(len(expected))]
        told = ", ".join(f"{predicates[n]}({v})" for n, v in evidence.items())
        precision = 1e-9 if ending == "bif" else 1e-4  # the others are written with six digits
        assert answers(text, queries, told) == pytest.approx(expected, abs=precision)


def brute_force(sizes: list[int], factors: list[tuple[list[int], list[float]]]) -> list[float]:
    """P(x0 = 0), P(x0 = 1), …, from the definition; the last of a scope changes fastest."""
    totals = [0.0] * sizes[0]
    for values in itertools.product(*map(range, sizes)):
        weight = 1.0
        for scope, numbers in factors:
            at = 0
            for variable in scope:
                at = at * sizes[variable] + values[variable]
            weight *= numbers[at]
        totals[values[0]] += weight
    return [total / sum(totals) for total in totals]


@pytest.mark.parametrize("seed", range(8))
def test_markov_networks(seed: int) -> None:
    rng = Random(seed)
    sizes = [rng.choice([2, 3]) for _ in range(4)]
    factors = []
    for scope in ([0], [0, 1], [2, 1], [1, 3, 2])[: rng.randint(2, 4)]:
        size = 1
        for variable in scope:
            size *= sizes[variable]
        numbers = [rng.choice([0.0, 1.0, 2.5, rng.uniform(0, 7)]) for _ in range(size)]
        numbers[0] = 1.5
        factors.append((scope, numbers))
    lines = ["MARKOV", str(len(sizes)), " ".join(map(str, sizes)), str(len(factors))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    lines += [f"{len(n)} {' '.join(map(repr, n))}" for _, n in factors]
    text = dpasp.convert("\n".join(lines), "uai", from_str=True)
    queries = [f"x0({i})" for i in range(sizes[0])]
    assert answers(text, queries) == pytest.approx(brute_force(sizes, factors), abs=1e-9)


def test_bayesian_networks_in_the_order_of_the_standard() -> None:
    text = "BAYES 3 2 2 2 3 1 0 1 1 3 0 1 2 2 .3 .7 2 .4 .6 8 .1 .9 .2 .8 .3 .7 .4 .6"
    converted = dpasp.convert(text, "uai", from_str=True)
    assert "0.2::x2(0); 0.8::x2(1) :- x0(0), x1(1)." in converted


def test_rounded_tables_are_divided_by_their_sum() -> None:
    text = "variable a { type discrete[3] {x, y, z}; } probability (a) { table .333 .333 .333; }"
    assert answers(dpasp.convert(text, "bif", from_str=True), ["a(x)"]) == pytest.approx([1 / 3])


def test_a_table_at_once_has_the_child_change_slowest() -> None:
    variables = "variable a {type discrete[2] {t,f};} variable b {type discrete[2] {t,f};}"
    tables = "probability (a) {table .3 .7;} probability (b|a) {table 0.6 0.05 0.4 0.95;}"
    text = dpasp.convert(f"{variables} {tables}", "bif", from_str=True)
    assert "0.05::b(t); 0.95::b(f) :- a(f)." in text


XML_WORD = """<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>t</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>x</TABLE></DEFINITION></NETWORK></BIF>"""


@pytest.mark.parametrize(
    ("dialect", "text", "line", "words"),
    [
        ("bif", "variable a { type continuous; }", 1, "continuous"),
        ("bif", ALARM.replace("0.01, 0.99", "0.01, 0.98"), 7, "sum to 0.99"),
        ("bif", ALARM.replace("0.01, 0.99", "0.01"), 7, "1 number where 2"),
        ("bif", ALARM.replace("Quake )", "Cake )"), 8, "no variable Cake"),
        ("bif", ALARM.replace("default 0, 0, 1;", ""), 9, "no probabilities of Alarm"),
        ("bif", ALARM[:-3], 12, "ends too early"),
        ("bif", "<BIF><NETWORK></BIF>", 1, "not XML"),
        ("bif", "<BIF><NETWORK><DEFINITION>\n<FOR>a</FOR></DEFINITION></NETWORK></BIF>", 2, "no v"),
        ("bif", XML_WORD, 2, "a: 'x' is not a number"),
        ("uai", "BAYES\n2\n2 2\n1\n1 7\n2 .5 .5", 5, "no variable 7"),
        ("uai", "MARKOV\n1\n2\n1\n1 0\n3 .5 .5 .5", 6, "3 numbers where 2"),
        ("uai", "MARKOV\n1\n2\n1\n1 0\n2 .5 -.5", 6, "not a number from 0"),
        ("uai", "PLAIN", 1, "BAYES or MARKOV"),
        ("uai", "MARKOV\n2 # n\n2 2\n1\n2 1 0\n\n4\n1 2 3 4", 8, "out of order"),
        ("uai", "MARKOV\n1\n2\n1\n1 0\n2 1e999 1", 6, "too large"),
        ("uai", "MARKOV\n1\n999999999\n0", 3, "999,999,999 values"),
        ("uai", "MARKOV\n1\n0\n0", 3, "at least one value"),
        ("uai", "MARKOV\n1\n2\n1\n2 0 0\n4 1 1 1 1", 5, "twice"),
        ("bif", ALARM + "probability ( Quake ) { table 0.5, 0.5; }", 14, "two tables"),
        ("bif", ALARM + "variable Quake { type discrete[1] { a }; }", 14, "occurs twice"),
        ("bif", ALARM.replace("Burglary, Quake )", "Quake, Quake )"), 9, "named twice"),
        ("bif", ALARM.replace("( Quake )", "( Quake | Quake )"), 8, "2 numbers where 4"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(
    dialect: str, text: str, line: int, words: str
) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as refused:
        dpasp.convert(text, dialect, from_str=True)
    (problem,) = refused.value.diagnostics
    assert problem.span is not None
    assert problem.span.line == line


PAIR = "variable a {type discrete[2] {t,f};}\nvariable b {type discrete[2] {t,f};}\n"


@pytest.mark.parametrize(
    "tables",
    [
        "probability (b) {table .3 .7;}\nprobability (a|a) {table 0.6 0.05 0.4 0.95;}",
        "probability (b|a) {table .3 .7 .7 .3;}\nprobability (a|b) {table 0.6 0.05 0.4 0.95;}",
    ],
)
def test_a_network_without_an_order_is_refused(tables: str) -> None:
    with pytest.raises(dpasp.ProgramError, match="a depends on itself") as refused:
        dpasp.convert(PAIR + tables, "bif", from_str=True)
    assert refused.value.diagnostics[0].span is not None
    uai = "BAYES 2 2 2 2 2 0 1 2 1 0 4 .3 .7 .7 .3 4 .6 .4 .05 .95"
    with pytest.raises(dpasp.ProgramError, match="depends on itself"):
        dpasp.convert(uai, "uai", from_str=True)
    xml = """<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>t</OUTCOME></VARIABLE>
    <DEFINITION><FOR>a</FOR><GIVEN>a</GIVEN><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>"""
    with pytest.raises(dpasp.ProgramError, match="depends on itself"):
        dpasp.convert(xml, "bif", from_str=True)


@pytest.mark.parametrize(
    ("dialect", "text", "words"),
    [
        ("uai", "BAYES 2 2 2 1 1 0 2 .5 .5", "x1 has no probabilities"),
        ("uai", "BAYES 1 2 2 1 0 1 0 2 .5 .5 2 .5 .5", "two tables"),
        ("uai", "BAYES 1 2 2 1 0 0 2 .5 .5 1 1", "has a variable"),
        ("bif", "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>t</OUTCOME></VARIABLE>"
         "</NETWORK></BIF>", "a has no probabilities"),
    ],
)  # fmt: skip
def test_incomplete_networks(dialect: str, text: str, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words):
        dpasp.convert(text, dialect, from_str=True)


def test_weights_whose_sum_is_beyond_doubles() -> None:
    text = dpasp.convert("MARKOV 1 3 1 1 0 3 1e308 1e308 2e307", "uai", from_str=True)
    assert answers(text, ["x0(0)", "x0(2)"]) == pytest.approx([1 / 2.2, 0.2 / 2.2])
    text = dpasp.convert("MARKOV 1 2 2 1 0 1 0 2 1e200 3e200 2 1e200 1e200", "uai", from_str=True)
    assert answers(text, ["x0(0)"]) == pytest.approx([0.25])
    text = dpasp.convert(
        "MARKOV 1 2 2 1 0 1 0 2 1e-200 3e-200 2 1e-200 1e-200", "uai", from_str=True
    )
    assert answers(text, ["x0(0)"]) == pytest.approx([0.25])


def test_a_table_with_many_parents_is_refused_before_it_is_made() -> None:
    """39 parents have half a million million combinations of values."""
    names = [f"p{i}" for i in range(39)]
    variables = "".join(f"variable {n} {{type discrete[2] {{t,f}};}}" for n in (*names, "c"))
    tables = "".join(f"probability ({n}) {{table .5 .5;}}" for n in names)
    for rows in ("default .5 .5;", "table .5 .5;"):
        text = f"{variables}{tables}probability (c | {', '.join(names)}) {{{rows}}}"
        with pytest.raises(dpasp.ProgramError, match=r"549,755,813,888 rows|1,099,511,627,776 are"):
            dpasp.convert(text, "bif", from_str=True)
    element = "<VARIABLE><NAME>{0}</NAME><OUTCOME>t</OUTCOME><OUTCOME>f</OUTCOME></VARIABLE>"
    parents = "".join(f"<GIVEN>{name}</GIVEN>" for name in names)
    table = f"<DEFINITION><FOR>c</FOR>{parents}<TABLE>.5 .5</TABLE></DEFINITION>"
    elements = "".join(map(element.format, (*names, "c")))
    with pytest.raises(dpasp.ProgramError, match="1,099,511,627,776 are needed"):
        dpasp.convert(f"<BIF><NETWORK>{elements}{table}</NETWORK></BIF>", "bif", from_str=True)


@pytest.mark.parametrize("text", ["", "network x { }"])
def test_a_network_without_variables_is_refused(text: str) -> None:
    with pytest.raises(dpasp.ProgramError, match="no variable"):
        dpasp.convert(text, "bif", from_str=True)


def test_weights_far_apart_are_kept() -> None:
    program = dpasp.loads(
        dpasp.convert("MARKOV 1 2 2 1 0 1 0 2 1e-200 1 2 1e-200 1", "uai", from_str=True)
    )
    answer = program.query("x0(0)")[0]
    assert answer.logs is not None
    assert float(answer.logs[0]) == pytest.approx(-400)
    program = dpasp.loads(
        dpasp.convert("MARKOV 2 2 2 1 2 0 1 4 1e-300 1e300 1 1", "uai", from_str=True)
    )
    assert program.query("x0(0), x1(1)")[0].value == pytest.approx(1)
    assert program.log_partition() == pytest.approx(300 * math.log(10))


def test_a_constant_table_counts_in_the_sum_of_all_weights() -> None:
    program = dpasp.loads(dpasp.convert("MARKOV 1 3 2 0 1 0 1 2.5 3 1 2 1", "uai", from_str=True))
    assert program.log_partition() == pytest.approx(math.log(10))


def test_evidence_is_read_from_a_file_and_from_beside_the_network(tmp_path: Path) -> None:
    network = tmp_path / "two.uai"
    network.write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    plain = dpasp.loads(dpasp.convert(network, "uai"))
    assert plain.query("x0(1)")[0].value == pytest.approx(15 / 21)
    (tmp_path / "two.uai.evid").write_text("1 1 2")
    assert dpasp.loads(dpasp.convert(network, "uai")).query("x0(1)")[0].value == pytest.approx(
        6 / 9
    )
    other = tmp_path / "other.evid"
    other.write_text("1\n1 1 0\n")  # the older form: one set of evidence
    program = dpasp.convert(network, "uai", evidence=other)
    assert "#evidence x1(0)." in program
    assert dpasp.loads(program).query("x0(1)")[0].value == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("1 5 0", "no variable 5"),
        ("1 1 3", "no value 3"),
        ("2 1 1", "2 observations: 4 numbers are needed"),
        ("2 1 1 1 2", "two values"),
        ("one", "not a whole number"),
    ],
)
def test_evidence_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    network, evidence = tmp_path / "two.uai", tmp_path / "bad.evid"
    network.write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    evidence.write_text(text)
    with pytest.raises(dpasp.ProgramError, match=words):
        dpasp.convert(network, "uai", evidence=evidence)


def test_evidence_files_are_of_uai_networks(tmp_path: Path) -> None:
    with pytest.raises(dpasp.UsageError, match="UAI"):
        dpasp.convert("0.3::a.", "problog", from_str=True, evidence=tmp_path / "x.evid")


UAI = Path(os.environ.get("DPASP_DATA", "")) / "uai"


@pytest.mark.skipif(not (UAI / "answers.json").exists(), reason="DPASP_DATA has no UAI networks")
@pytest.mark.parametrize("name", ["Promedus_24", "Pedigree_11", "Segmentation_11"])
def test_networks_of_a_competition(name: str) -> None:
    expected = json.loads((UAI / "answers.json").read_text())[name]
    program = dpasp.loads(dpasp.convert(UAI / f"{name}.uai", "uai"))
    assert program.log_partition() / math.log(10) == pytest.approx(expected["log10_z"], abs=1e-6)
    found = {answer.query.partition(" |")[0]: answer.value for answer in program.marginals()}
    for variable, shares in expected["marginals"].items():
        for value, share in enumerate(shares):
            assert found[f"x{variable}({value})"] == pytest.approx(share, abs=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not (UAI / "answers.json").exists(), reason="DPASP_DATA has no UAI networks")
def test_a_network_for_which_most_orders_are_too_wide() -> None:
    program = dpasp.loads(dpasp.convert(UAI / "linkage_16.uai", "uai"))
    total = program.log_partition() / math.log(10)
    assert total == pytest.approx(-38.555590574395, abs=1e-9)  # by an elimination in numpy
    (answer,) = program.query("x1(0)", engine="bounds")
    assert answer.gap == 0


# --- counting problems --------------------------------------------------------------------------


def counted(text: str) -> float:
    """The count of a problem that is not projected, from its program."""
    program = dpasp.loads(dpasp.convert(text, "wcnf", from_str=True))
    return float(np.exp(program.log_partition()))


@pytest.mark.parametrize("seed", range(6))
def test_weighted_counts(seed: int) -> None:
    random = Random(seed)
    weights: dict[int, float] = {}
    for variable in range(1, 7):
        match random.randrange(3):
            case 0:
                weights |= {variable: random.random() * 3, -variable: random.random()}
            case 1:
                weights |= {random.choice((-1, 1)) * variable: random.random()}
    clauses = [
        [random.choice((-1, 1)) * v for v in random.sample(range(1, 7), random.randint(1, 3))]
        for _ in range(5)
    ]
    lines = [f"c p weight {literal} {weight!r} 0" for literal, weight in weights.items()]
    lines += ["p cnf 6 5", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    expected = 0.0
    for signs in itertools.product((-1, 1), repeat=6):
        world = {sign * variable for variable, sign in enumerate(signs, 1)}
        if all(world.intersection(clause) for clause in clauses):
            missing = [1 - weights[-x] if -x in weights else 1.0 for x in world]
            expected += math.prod(weights.get(x, m) for x, m in zip(world, missing, strict=True))
    assert counted("\n".join(lines)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weights", [(1e14, 2), (2, 1e14), (3e200, 7), (1, 1e-12)])
def test_small_weights_beside_large_ones_keep_their_digits(weights: tuple[float, float]) -> None:
    lines = [f"c p weight {v} {weights[0]!r} 0\nc p weight -{v} {weights[1]!r} 0" for v in (1, 2)]
    total = math.prod(weights) * 2 + weights[1] ** 2
    text = dpasp.convert("\n".join([*lines, "p cnf 2 1", "-1 -2 0"]), "wcnf", from_str=True)
    found = dpasp.loads(text).log_partition()
    assert found == pytest.approx(math.log(total), rel=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_projected_counts(seed: int) -> None:
    """An assignment of the shown variables counts once, however it can be completed."""
    random = Random(seed)
    clauses = [
        [random.choice((-1, 1)) * v for v in random.sample(range(1, 8), 3)] for _ in range(14)
    ]
    shown = sorted(random.sample(range(1, 8), 4))
    lines = ["c t pmc", f"c p show {' '.join(map(str, shown))} 0", "p cnf 7 14"]
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    seen = set()
    for signs in itertools.product((-1, 1), repeat=7):
        world = {sign * variable for variable, sign in enumerate(signs, 1)}
        if all(world.intersection(clause) for clause in clauses):
            seen.add(tuple(v in world for v in shown))
    text = dpasp.convert("\n".join(lines), "wcnf", from_str=True)
    scale = float(text.split("log_partition() + ")[1].split()[0])
    assert scale == pytest.approx(4 * math.log(2))
    found = math.exp(dpasp.loads(text).log_partition() + scale)
    assert found == pytest.approx(len(seen))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1 0", 1, "before the line"),
        ("p cnf 1 1\n2 0", 2, "the variable 2 is above the 1 declared"),
        ("p cnf 1 1\n1", 2, "does not end with 0"),
        ("p cnf 1 2\n1 0", 2, "1 clauses where 2 were declared"),
        ("c p weight 1 -0.5 0\np cnf 1 0", 1, "'-0.5' is not a number from 0 on"),
        ("c p weight 1 1.5 0\np cnf 1 0", 1, "is above 1, the other is missing"),
        ("c t mc\nc p weight 1 0.5 0\np cnf 1 0", 2, "counts without weights"),
        ("c t wmc\nc p show 1 0\np cnf 1 0", 2, "has no 'c p show'"),
        ("c t pmc\np cnf 1 0", 2, "needs 'c p show'"),
        ("c t sat\np cnf 1 0", 1, "unknown kind of counting"),
        ("c ind 1 0\np cnf 1 0", 1, "may change what is counted"),
        ("c p weight 1 1e-300 0\nc p weight -1 1e300 0\np cnf 1 0", 1, "too far apart"),
    ],
)
def test_counting_problems_that_cannot_be_read(text: str, line: int, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as caught:
        dpasp.convert(text, "wcnf", from_str=True)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.line == line


def test_the_most_probable_state_of_a_markov_network_names_every_variable() -> None:
    text = dpasp.convert("MARKOV\n2\n1 2\n2\n1 0\n2 0 1\n1\n 4\n2\n 1 3\n", "uai", from_str=True)
    (answer,) = dpasp.loads(text).map()
    assert answer.assignment == {"x0(0)": True, "x1(0)": False, "x1(1)": True}
    assert answer.value == pytest.approx(3 / 4)
