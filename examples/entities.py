"""Entity types and relations in sentences, where a program corrects two classifiers.

    python examples/entities.py

One classifier reads a name and guesses what it names; another reads the sentence and guesses the
relation. Names such as "washington" are people, places and companies. The program knows which
types each relation holds between, and so changes the guesses together. The classifiers are tiny
and trained here, in a few seconds; any of Hugging Face takes their place. It needs
`pip install '.[learn,transformers]'`.
"""

from __future__ import annotations

import random

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

import dpasp
from dpasp.integrations.transformers import TextNetwork, classifier

PROGRAM = """
name(0..1).  sentence(s).
?::type(E, {person, company, place}) as @types :- name(E).
?::relation(S, {works_for, born_in, based_in}) as @relations :- sentence(S).
:- relation(s, works_for), not between(person, company).
:- relation(s, born_in),   not between(person, place).
:- relation(s, based_in),  not between(company, place).
between(T, U) :- type(0, T), type(1, U).
#semantics maxent.
"""
TYPES = ("person", "company", "place")
RELATIONS = {
    "works_for": ("person", "company", ["works for", "was hired by", "is employed at"]),
    "born_in": ("person", "place", ["was born in", "grew up in", "comes from"]),
    "based_in": ("company", "place", ["is based in", "has offices in", "was founded in"]),
}
NAMES = {
    "person": ["ada", "grace", "alan", "washington", "paris", "ford", "houston"],
    "company": ["acme", "initech", "globex", "ford", "washington", "houston"],
    "place": ["london", "oslo", "lima", "paris", "washington", "houston"],
}
Fact = tuple[str, str, str, str]  # the two names, the relation and the sentence


def facts(count: int, seed: int) -> list[Fact]:
    """Random sentences, with what they say."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        relation = draw.choice(list(RELATIONS))
        left, right, verbs = RELATIONS[relation]
        one, two = draw.choice(NAMES[left]), draw.choice(NAMES[right])
        found.append((one, two, relation, f"{one} {draw.choice(verbs)} {two}"))
    return found


def trained(texts: list[str], labels: list[str], names: list[str], steps: int) -> TextNetwork:
    """A tiny classifier of texts, as a network for a neural predicate."""
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *words])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    plain.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", model_max_length=16
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    model = BertForSequenceClassification(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    targets = torch.tensor([names.index(label) for label in labels])
    model.train()
    for _ in range(steps):
        optimiser.zero_grad()
        model(**inputs, labels=targets).loss.backward()
        optimiser.step()
    return classifier(model, tokenizer)


def main(count: int = 200, steps: int = 60) -> tuple[float, float]:
    """How many types are right: of the classifier alone, and of the program."""
    torch.manual_seed(0)
    seen, new = facts(count, 0), facts(count, 1)
    mentions = [(f[i], RELATIONS[f[2]][i]) for f in seen for i in (0, 1)]
    types = trained([n for n, _ in mentions], [t for _, t in mentions], list(TYPES), steps)
    relations = trained([f[3] for f in seen], [f[2] for f in seen], list(RELATIONS), steps)
    program = dpasp.loads(PROGRAM, networks={"types": types, "relations": relations})
    model = program.module().eval()
    data = {
        "name": types.rows([[[f[0]], [f[1]]] for f in new]),
        "sentence(s)": relations.rows([[f[3]] for f in new]),
    }
    right = torch.tensor([[TYPES.index(RELATIONS[f[2]][i]) for i in (0, 1)] for f in new])
    with torch.no_grad():
        alone = types(data["name"].reshape(-1, 1)).argmax(1).reshape(-1, 2)
        both = [model.value(f"type({i},T)", data).argmax(1) for i in (0, 1)]
    before = (alone == right).double().mean().item()
    after = (torch.stack(both, dim=1) == right).double().mean().item()
    print(f"types that are right: {before:.1%} by the classifier, {after:.1%} by the program")
    one, two, relation, sentence = next(
        f for f, a, r in zip(new, alone, right, strict=True) if not torch.equal(a, r)
    )
    print(f"for example {sentence!r}: {one} and {two}, {relation}")
    return before, after


if __name__ == "__main__":
    main()
