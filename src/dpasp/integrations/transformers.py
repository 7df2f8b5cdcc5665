"""Hugging Face models as networks of neural predicates: texts in, probabilities out.

Each function makes a :class:`TextNetwork` from a model and its tokenizer, given as objects or by
name. A network scores a text for each of its labels; ``rows`` turns texts into data. Scores are
computed in batches, kept in a file if there is a ``cache``, and divided by a temperature, which is
learned with everything else in the program; the model itself is not trained.

Example::

    network = zero_shot("some/nli-model", labels=["person", "city"], cache="scores.sqlite")
    program = dpasp.loads(
        "?::type(X, {person, city}) as @net :- text(X). text(0..1) ~ test(@texts).",
        networks={"net": network}, data={"texts": network.rows([["Ada", "Paris"]])},
    )
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpasp.errors import UsageError
from dpasp.writing import counted

if find_spec("torch") is None or find_spec("transformers") is None:
    raise UsageError.at(
        "transformers-missing",
        "models of Hugging Face need torch and transformers, which are not installed",
        help="pip install 'dpasp[learn,transformers]'",
    )

import torch
from torch import Tensor, nn

BATCH = 32  # texts in a batch
Score = Callable[[list[str]], Tensor]  # texts → [texts, labels]


class TextNetwork(nn.Module):
    """Probabilities of labels for texts, [rows, labels], in the order of ``labels``.

    Its rows are numbers of texts, from :meth:`rows`. The scores are divided by ``temperature``: 1
    leaves the model unchanged, more makes it less certain.
    """

    def __init__(
        self,
        score: Score,
        labels: Sequence[str],
        identity: str,
        *,
        cache: str | Path | None = None,
        batch: int = BATCH,
        learn_temperature: bool = True,
    ) -> None:
        super().__init__()
        if batch < 1:
            raise UsageError(f"a batch has at least one text, not {batch}")
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise UsageError(f"a network needs two labels or more, all different, not {labels}")
        self.labels = tuple(labels)
        self.batch = batch
        self.log_temperature = nn.Parameter(torch.zeros(()), requires_grad=learn_temperature)
        self._score = score
        self._kept = _Scores(identity, None if cache is None else Path(cache))
        self._texts: list[str] = []
        self._places: dict[str, int] = {}

    @property
    def temperature(self) -> float:
        """The divisor of the scores."""
        return float(self.log_temperature.detach().exp())

    def rows(self, texts: Iterable[object]) -> Tensor:
        """Texts as data: a tensor of their numbers, nested like the texts.

        In a list, each text is a row; a list of lists gives each row several objects.
        """
        return torch.tensor(self._numbered(texts))

    def _numbered(self, texts: Any) -> Any:
        if not isinstance(texts, str):
            return [self._numbered(text) for text in texts]
        if texts not in self._places:
            self._places[texts] = len(self._texts)
            self._texts.append(texts)
        return float(self._places[texts])

    def forward(self, rows: Tensor) -> Tensor:
        """The probabilities [rows, labels] of rows of text numbers."""
        numbers = rows.reshape(-1).long().tolist()
        wrong = [number for number in numbers if not 0 <= number < len(self._texts)]
        if wrong:
            message = f"there is no text number {wrong[0]} of {counted(len(self._texts), 'text')}"
            raise UsageError(message, help="make the data with network.rows(texts)")
        scores = self.scores([self._texts[number] for number in numbers])
        device = self.log_temperature.device
        return (scores.to(device) / self.log_temperature.exp()).softmax(dim=1)

    @torch.no_grad()
    def scores(self, texts: Sequence[str]) -> Tensor:
        """The scores [texts, labels] before the temperature, known ones from the cache."""
        missing = self._kept.missing(texts)
        for start in range(0, len(missing), self.batch):
            some = missing[start : start + self.batch]
            found = self._score(some).float().cpu()
            self._kept.add(some, found.tolist())
        return torch.tensor([self._kept.known[text] for text in texts])


class _Scores:
    """Scores by text, in memory and in a file, where the key includes the model."""

    def __init__(self, identity: str, path: Path | None) -> None:
        self.known: dict[str, list[float]] = {}
        self._identity = identity
        self._path = path
        if path is not None:
            with closing(self._open()) as file, file:
                file.execute("create table if not exists scores (key text primary key, value text)")

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The texts without scores, without duplicates."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self.known]
        if self._path is None or not unknown:
            return unknown
        with closing(self._open()) as file:
            for text in unknown:
                found = file.execute("select value from scores where key = ?", (self._key(text),))
                if (row := found.fetchone()) is not None:
                    self.known[text] = json.loads(row[0])
        return [text for text in unknown if text not in self.known]

    def add(self, texts: Sequence[str], scores: Sequence[list[float]]) -> None:
        self.known.update(zip(texts, scores, strict=True))
        if self._path is not None:
            rows = [(self._key(t), json.dumps(s)) for t, s in zip(texts, scores, strict=True)]
            with closing(self._open()) as file, file:
                file.executemany("insert or replace into scores values (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(str(self._path), timeout=60)
        except sqlite3.Error as error:
            raise UsageError(f"the cache {self._path} cannot be used: {error}") from error

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._identity}\n{text}".encode()).hexdigest()


def classifier(model: Any, tokenizer: Any = None, **options: Any) -> TextNetwork:
    """Make a network from a text classifier; the labels are those of its configuration."""
    model, tokenizer = _loaded(model, tokenizer, "AutoModelForSequenceClassification")
    names = model.config.id2label
    labels = [str(names[i]) for i in range(len(names))]

    def score(texts: list[str]) -> Tensor:
        return _logits(model, tokenizer, texts)

    return TextNetwork(score, labels, _identity("classifier", model, tokenizer), **options)


def zero_shot(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str],
    template: str = "This example is {}.",
    **options: Any,
) -> TextNetwork:
    """Make a network from an inference model: scores say how much a text entails a label."""
    model, tokenizer = _loaded(model, tokenizer, "AutoModelForSequenceClassification")
    _check_template(template)
    names = {str(name).lower(): int(i) for i, name in model.config.id2label.items()}
    entails = next((i for name, i in names.items() if name.startswith("entail")), None)
    if entails is None:
        help = "zero_shot needs a model of natural language inference; classifier takes others"
        raise UsageError(f"the model has no label for entailment, only {', '.join(names)}", help)
    hypotheses = [template.format(label) for label in labels]

    def score(texts: list[str]) -> Tensor:
        pairs = [(text, hypothesis) for text in texts for hypothesis in hypotheses]
        logits = _logits(model, tokenizer, [one for one, _ in pairs], [two for _, two in pairs])
        return logits.log_softmax(dim=1)[:, entails].reshape(len(texts), len(labels))

    identity = _identity("zero shot", model, tokenizer, hypotheses)
    return TextNetwork(score, labels, identity, **options)


def embedding(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str],
    descriptions: Sequence[str] | None = None,
    scale: float = 10.0,
    **options: Any,
) -> TextNetwork:
    """Make a network from a text encoder: scores say how near a text is to a label.

    A score is the cosine of the angle between mean token vectors, times ``scale``.
    """
    model, tokenizer = _loaded(model, tokenizer, "AutoModel")
    described = list(labels if descriptions is None else descriptions)
    if len(described) != len(labels):
        raise UsageError(f"{len(labels)} labels need as many descriptions, not {len(described)}")

    def vectors(texts: list[str]) -> Tensor:
        inputs = _tokens(tokenizer, model, texts)
        hidden = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        return nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1).clamp(min=1), dim=1)

    labelled = cache(lambda: vectors(described))

    def score(texts: list[str]) -> Tensor:
        return scale * vectors(texts) @ labelled().T

    identity = _identity("embedding", model, tokenizer, [*described, str(scale)])
    return TextNetwork(score, labels, identity, **options)


def answers(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str],
    prompt: str = "{}",
    separator: str = " ",
    **options: Any,
) -> TextNetwork:
    """Make a network from a causal language model: scores are probabilities of labels.

    ``prompt`` holds ``{}`` for the text, and ``separator`` stands between it and the label. A score
    is the sum of the logarithms of the label's tokens.
    """
    model, tokenizer = _loaded(model, tokenizer, "AutoModelForCausalLM")
    _check_template(prompt)

    def score(texts: list[str]) -> Tensor:
        asked = [prompt.format(text).rstrip() for text in texts]
        rows = [
            _continued(tokenizer, one, f"{separator}{label}") for one in asked for label in labels
        ]
        ids = torch.zeros(len(rows), max(len(row) for row, _ in rows), dtype=torch.long)
        there, wanted = torch.zeros_like(ids), torch.zeros_like(ids)
        for i, (row, start) in enumerate(rows):  # padding after a row is masked
            ids[i, : len(row)], there[i, : len(row)] = torch.tensor(row), 1
            wanted[i, start : len(row)] = 1
        ids, there, wanted = (each.to(model.device) for each in (ids, there, wanted))
        logs = model(input_ids=ids, attention_mask=there).logits.float().log_softmax(dim=2)
        found = logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] * wanted[:, 1:]
        scores: Tensor = found.sum(dim=1).reshape(len(texts), len(labels))
        return scores

    identity = _identity("answers", model, tokenizer, [prompt, separator, *labels])
    return TextNetwork(score, labels, identity, **options)


def _continued(tokenizer: Any, start: str, ending: str) -> tuple[list[int], int]:
    """The tokens of a text with its ending, and the number before the ending.

    They are tokenised together, since a token may include the space before a word.
    """
    before, row = (_token_ids(tokenizer, text) for text in (start, start + ending))
    same = [a == b for a, b in zip(before, row, strict=False)]
    shared = same.index(False) if False in same else len(same)
    if not shared:  # the ending is at the beginning
        if tokenizer.bos_token_id is None:
            message = f"nothing comes before {ending!r}, and the tokenizer has no token for a "
            raise UsageError(f"{message}beginning", help="let the prompt begin with words")
        row, shared = [tokenizer.bos_token_id, *row], 1
    if shared == len(row):
        raise UsageError(f"the label {ending.strip()!r} has no tokens")
    if len(row) > tokenizer.model_max_length:
        message = f"a text with its prompt and its label has {len(row)} tokens, and the model takes"
        raise UsageError(f"{message} {tokenizer.model_max_length}: {start[:60]!r}…")
    return row, shared


def _loaded(model: Any, tokenizer: Any, kind: str) -> tuple[Any, Any]:
    """The model, ready to be used, and its tokenizer; either may be given by its name."""
    import transformers

    if isinstance(model, str | Path):
        tokenizer = str(model) if tokenizer is None else tokenizer
        model = getattr(transformers, kind).from_pretrained(str(model))
    if tokenizer is None:
        raise UsageError("a model that is given as an object also needs its tokenizer")
    if isinstance(tokenizer, str | Path):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(tokenizer))
    model.eval()
    return model, tokenizer


def _tokens(tokenizer: Any, model: Any, *texts: list[str]) -> Any:
    found = tokenizer(*texts, padding=True, truncation=True, return_tensors="pt")
    return {name: tensor.to(model.device) for name, tensor in found.items()}


def _token_ids(tokenizer: Any, text: str) -> list[int]:
    """The tokens of an unfinished text: with a token for the beginning, none for the end."""
    found = list(tokenizer(text)["input_ids"])
    ends = {tokenizer.eos_token_id, tokenizer.sep_token_id} - {None}
    return found[:-1] if found and found[-1] in ends else found


def _logits(model: Any, tokenizer: Any, *texts: list[str]) -> Tensor:
    logits: Tensor = model(**_tokens(tokenizer, model, *texts)).logits
    return logits


def _check_template(template: str) -> None:
    if template.count("{}") != 1:
        raise UsageError(f"{template!r} does not hold {{}} once, where the text goes")


def _identity(kind: str, model: Any, tokenizer: Any, more: Sequence[str] = ()) -> str:
    """A hash of everything but the text that a score depends on: weights, vocabulary, labels."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    words = sorted(tokenizer.get_vocab().items())
    digest.update(json.dumps([kind, words, model.config.to_json_string(), *more]).encode())
    return digest.hexdigest()
