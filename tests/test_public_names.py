"""The public names: a change here is a change that users notice."""

from __future__ import annotations

import dpasp

NAMES = """
    Answer Answers DataError Decision Diagnostic Error Expectation ImpossibleEvidence
    InconsistentProgram
    InferenceError Interrupted LimitReached Limits MapAnswer MemoryLimit OutputError Program
    ProgramError ProgramWarning SizeLimit Span TimeLimit UsageError __version__ convert formatted
    load loads parse
""".split()


def test_public_names() -> None:
    assert sorted(dpasp.__all__) == sorted(NAMES)
    assert set(NAMES) <= set(dir(dpasp))


def test_every_public_name_is_there_and_documented() -> None:
    for name in NAMES:
        value = getattr(dpasp, name)
        assert name == "__version__" or value.__doc__, name


def test_all_errors_are_errors() -> None:
    kinds = [v for v in vars(dpasp).values() if isinstance(v, type) and issubclass(v, Exception)]
    assert len(kinds) == 14
    assert all(issubclass(kind, dpasp.Error | dpasp.ProgramWarning) for kind in kinds)


def test_the_methods_of_a_program() -> None:
    methods = {name for name in vars(dpasp.Program) if not name.startswith("_")}
    asking = {"circuit", "explain", "ground", "plan", "models", "sample", "why_inconsistent"}
    questions = {"decide", "expect", "log_partition", "map", "marginals", "predict", "query"}
    showing = {"plot", "report", "warnings"}
    learning = {"accuracy", "functions", "learn", "learned", "module", "restore", "save"}
    learning |= {"ensemble", "learned_program", "shortcuts"}
    elsewhere = {"export", "to_jax", "to_numpy"}
    assert methods == asking | questions | showing | learning | elsewhere
