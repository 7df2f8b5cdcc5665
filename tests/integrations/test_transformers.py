"""Hugging Face models as networks, with tiny models that are made at random here."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import dpasp

pytest.importorskip("torch")
pytest.importorskip("transformers", reason="transformers is not installed")

import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace, Whitespace
from tokenizers.processors import TemplateProcessing

from dpasp.integrations.transformers import TextNetwork, answers, classifier, embedding, zero_shot

pytestmark = pytest.mark.slow
WORDS = "this example is ada paris a person city works in what does it name".split()
TEXTS = ["ada works in paris", "paris", "a person works in ada"]
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def tokenizer() -> Any:
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", ".", *WORDS])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    plain.pre_tokenizer = Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    )


def bert(kind: str, labels: list[str]) -> Any:
    config = transformers.BertConfig(
        vocab_size=len(WORDS) + 3,
        intermediate_size=8,
        max_position_embeddings=32,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        **SMALL,
    )
    return getattr(transformers, kind)(config)


def gpt() -> Any:
    config = transformers.GPT2Config(
        vocab_size=len(WORDS) + 3, n_positions=32, n_embd=8, n_layer=1, n_head=2
    )
    return transformers.GPT2LMHeadModel(config)


def probabilities(network: TextNetwork) -> Any:
    with torch.no_grad():
        return network(network.rows(TEXTS))


def test_a_classifier_is_its_softmax() -> None:
    model = bert("BertForSequenceClassification", ["person", "city", "other"])
    network = classifier(model, tokenizer(), batch=2)
    assert network.labels == ("person", "city", "other")
    with torch.no_grad():
        inputs = [tokenizer()(text, return_tensors="pt") for text in TEXTS]
        expected = torch.cat([model(**each).logits for each in inputs]).softmax(1)
    torch.testing.assert_close(probabilities(network), expected, rtol=1e-4, atol=1e-5)


def test_zero_shot_is_entailment_of_each_label() -> None:
    model = bert("BertForSequenceClassification", ["contradiction", "neutral", "entailment"])
    network = zero_shot(model, tokenizer(), labels=["person", "city"])
    with torch.no_grad():
        rows = [
            [
                model(**tokenizer()(text, f"This example is {label}.", return_tensors="pt"))
                .logits.log_softmax(1)[0, 2]
                .item()
                for label in ("person", "city")
            ]
            for text in TEXTS
        ]
    expected = torch.tensor(rows).softmax(1)
    torch.testing.assert_close(probabilities(network), expected, rtol=1e-4, atol=1e-5)
    other = bert("BertForSequenceClassification", ["a", "b"])
    with pytest.raises(dpasp.UsageError, match="no label for entailment"):
        zero_shot(other, tokenizer(), labels=["person", "city"])


def test_an_embedding_is_nearest_to_itself() -> None:
    model = bert("BertModel", ["a", "b"])
    network = embedding(model, tokenizer(), labels=["paris", "a person works in ada"])
    found = probabilities(network)
    assert found[1].argmax() == 0
    assert found[2].argmax() == 1


def test_answers_are_probabilities_of_what_follows() -> None:
    model = gpt()
    seen: list[Any] = []
    model.register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"].shape[0]), with_kwargs=True
    )
    network = answers(model, tokenizer(), labels=["person", "a city"], prompt="what does {} name")
    probabilities(network)
    assert seen == [len(TEXTS) * 2]  # all texts with all labels at once
    with torch.no_grad():
        scores = []
        for text in TEXTS:
            begin = tokenizer()(f"what does {text} name")["input_ids"]
            row = []
            for label in ("person", "a city"):
                total, so_far = 0.0, list(begin)
                for token in tokenizer()(label)["input_ids"]:
                    logits = model(input_ids=torch.tensor([so_far])).logits[0, -1]
                    total += float(logits.log_softmax(0)[token])
                    so_far.append(token)
                row.append(total)
            scores.append(row)
    expected = torch.tensor(scores).softmax(1)
    torch.testing.assert_close(probabilities(network), expected, rtol=1e-4, atol=1e-5)


def test_a_label_is_read_as_what_follows_its_prompt() -> None:
    """A token may hold the space before its word, and a text begins with a token of its own."""
    words = ["[PAD]", "[UNK]", "<s>", "what", "\u2581is", "\u2581it", "\u2581a", "\u2581city"]
    plain = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    plain.pre_tokenizer = Metaspace(prepend_scheme="never")
    plain.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    spaced = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", bos_token="<s>", model_max_length=8
    )
    model = gpt()
    network = answers(model, spaced, labels=["it", "a city"], prompt="what {} ")
    with torch.no_grad():
        logs = model(input_ids=torch.tensor([[2, 3, 4, 6, 7]])).logits[0].log_softmax(1)
    wanted = [logs[2, 5], logs[2, 6] + logs[3, 7]]
    torch.testing.assert_close(network.scores(["is"])[0], torch.stack(wanted))
    with pytest.raises(dpasp.UsageError, match="has 15 tokens, and the model takes 8"):
        network.scores(["is it a city " * 3])
    empty = answers(model, tokenizer(), labels=["person", "city"])
    with pytest.raises(dpasp.UsageError, match="no token for a beginning"):
        empty.scores([""])


def test_scores_are_kept_by_content(tmp_path: Path) -> None:
    model, cache, calls = gpt(), tmp_path / "scores.sqlite", []
    asked = {"labels": ["person", "city"], "prompt": "{} is a"}
    first = answers(model, tokenizer(), **asked, cache=cache)
    found = probabilities(first)
    model.register_forward_hook(lambda *_: calls.append(1))
    assert torch.equal(probabilities(first), found)  # in memory
    again = answers(model, tokenizer(), **asked, cache=cache)
    assert torch.equal(probabilities(again), found)  # on disk
    assert calls == []
    probabilities(answers(model, tokenizer(), labels=["city", "person"], cache=cache))
    assert len(calls) == 1  # other labels
    with torch.no_grad():
        model.transformer.wte.weight += 1.0
    other = answers(model, tokenizer(), **asked, cache=cache)
    assert not torch.equal(probabilities(other), found)  # other weights


def test_the_temperature_is_learned_in_a_program() -> None:
    model = bert("BertForSequenceClassification", ["person", "city"])
    with torch.no_grad():
        model.classifier.weight *= 50.0  # far too sure of itself
    network = classifier(model, tokenizer())
    text = "word(x). ?::type(X, {person, city}) as @net :- word(X). #semantics maxent."
    program = dpasp.loads(text, networks={"net": network})
    module = program.module()
    moving = {name for name, p in module.named_parameters() if p.requires_grad}
    assert len(moving) == 1  # the temperature, and nothing of the model
    rows = network.rows([[text] for text in TEXTS])
    sure = network(rows).argmax(1).tolist()
    labels = ["person", "city"]
    wrong = [f"type(x,{labels[k]})" for k in sure]
    mixed = [*wrong, *(f"type(x,{labels[1 - k]})" for k in sure)]  # right half of the time
    optimiser = torch.optim.Adam(module.parameters(), lr=0.2)
    for _ in range(40):
        optimiser.zero_grad()
        (-module.log_prob(mixed, {"word(x)": torch.cat([rows, rows])}).mean()).backward()
        optimiser.step()
    assert network.temperature > 5


def test_a_vision_model_is_a_network() -> None:
    class Vision(torch.nn.Module):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, pixels: Any) -> Any:
            return self.model(pixel_values=pixels).logits.softmax(dim=1)

    config = transformers.ViTConfig(
        image_size=8, patch_size=4, intermediate_size=8, num_labels=2, **SMALL
    )
    vision = Vision(transformers.ViTForImageClassification(config).eval())
    text = "image(x). ?::shows(X, {cat, dog}) as @net :- image(X). #semantics maxent."
    module = dpasp.loads(text, networks={"net": vision}).module()
    pixels = torch.rand(3, 3, 8, 8)
    found = module.prob("shows(x,K)", {"image(x)": pixels})
    torch.testing.assert_close(found.float(), vision(pixels), rtol=1e-5, atol=1e-6)
    module.log_prob(["shows(x,cat)"] * 3, {"image(x)": pixels}).sum().backward()
    assert vision.model.classifier.weight.grad.abs().sum() > 0


def test_what_is_refused() -> None:
    model = gpt()
    with pytest.raises(dpasp.UsageError, match="two labels or more"):
        answers(model, tokenizer(), labels=["person"])
    with pytest.raises(dpasp.UsageError, match="does not hold"):
        answers(model, tokenizer(), labels=["person", "city"], prompt="what is it")
    with pytest.raises(dpasp.UsageError, match="needs its tokenizer"):
        answers(model, labels=["person", "city"])
    network = answers(model, tokenizer(), labels=["person", "city"])
    with pytest.raises(dpasp.UsageError, match="no text number 3"):
        network(torch.tensor([[3.0]]))


@pytest.mark.slow
def test_the_program_corrects_the_classifier() -> None:
    path = Path(__file__).parents[2] / "examples" / "entities.py"
    before, after = runpy.run_path(str(path))["main"](120, 40)
    assert after > before + 0.1
