"""Every listing of the paper is read as printed there, with TeX undone and elisions filled in."""

from __future__ import annotations

import pytest

from dpasp.language import check, parse
from tests.language.reading import kinds

SMOKERS = """\
smokes(X) :- stress(X).
smokes(X) :- influences(Y,X), smokes(Y).
"""

MNIST_HEAD = """\
#python
def net(): ...       # neural network
def mnist_tr(i): ... # train images for i-th digit
def mnist_te(i): ... # test images for i-th digit
def labels(): ...    # sum(x) labels
#end.

input(0) ~ test(@mnist_te(0)), train(@mnist_tr(0)).
input(1) ~ test(@mnist_te(1)), train(@mnist_tr(1)).

?::digit(X, {0..9}) as @net :- input(X).
sum(Z) :- digit(0, X), digit(1, Y), Z = X+Y.

#semantics maxent.
#learn @labels, lr = 0.001, niters = 5, batch = 1000.
"""

ENSEMBLE = """\
#python
def mnist_test(): ...
def mnist_train(): ...
def net1(): ...
def net2(): ...
#end.
data(x) ~ test(@mnist_test), train(@mnist_train).
% we have two classifiers/forecasters
class(f). class(g).
!::f(X,{0,...,9}) as @net1 :- data(X).
!::g(X,{0,…,9}) as @net2 :- data(X).
pred(f,Y) :- f(x,Y).  pred(g,Y) :- g(x,Y).
% at least one of them is correct
hit(f); hit(g).
% their correctness is consistent
hit(N2)  :- pred(N1,Y), pred(N2,Y), N1 != N2, hit(N1).
miss(N2) :- pred(N1,Y), pred(N2,Y), N1 != N2, miss(N1).
miss(N1); miss(N2) :- pred(N1,Y), pred(N2,Z), Y != Z.
miss(N) :- not hit(N), class(N).
% classification agrees with correct prediction
digit(Y) :- pred(N,Y), hit(N).
#semantics credal. % for credal semantics.
% Query for the digit probabilities.
#query digit(0). #query digit(1). #query digit(9).
"""

ADDITION = r"""
% Addition of MNIST digits.

#python
import torch
import torchvision

class Net(torch.nn.Module):
  def __init__(self):
    super().__init__()
    self.encoder = torch.nn.Sequential(
      torch.nn.Conv2d(1, 6, 5),
      torch.nn.ReLU(True)
    )

  def forward(self, x):
    x = self.encoder(x)
    x = x.view(-1, 16 * 4 * 4)
    return x

def digit_net(): return Net()

def mnist_data():
  train = torchvision.datasets.MNIST(root = "/tmp", train = True, download = True)
  return train.data.float().reshape(len(train), 1, 28, 28)/255., train.targets, \
         train.targets

def normalize(X_R, Y_R, X_T, Y_T, mu, sigma):
  return (X_R-mu)/sigma, Y_R, (X_T-mu)/sigma, Y_T

train_X, train_Y, test_X, test_Y = normalize(*mnist_data(), 0.1307, 0.3081)
def pick_slice(data, which):
  h = len(data)//2
  return slice(h, len(data)) if which else slice(0, h)
def mnist_images_train(which): return train_X[pick_slice(train_X, which)]
def mnist_images_test(which): return test_X[pick_slice(test_X, which)]
def mnist_labels_train():
  labels = torch.concatenate((train_Y[:(h := len(train_Y)//2)].reshape(-1, 1),
                              train_Y[h:].reshape(-1, 1)), axis=1)
  return [[f"sum({x.item() + y.item()})"] for x, y in labels]
#end.

input(0) ~ test(@mnist_images_test(0)), train(@mnist_images_train(0)).
input(1) ∼ test(@mnist_images_test(1)), train(@mnist_images_train(1)).

?::digit(X, {0..9}) as @digit_net with optim = "Adam", lr = 0.001 :- input(X).
sum(Z) :- digit(0, X), digit(1, Y), Z = X + Y.

#semantics maxent.
#learn @mnist_labels_train, lr = 1., niters = 5, alg = "lagrange", batch = 1000.
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMOKERS, ["Plain"] * 2),
        ("0.8::influences(anna,bill).", ["Annotated"]),
        ("h1; h2; h3 :- b1, b2, not b3, not b4.", ["Plain"]),
        ("0.2::a1; 0.3::a2; 0.5::ak :- b1, bn, not b2, not b3.", ["Annotated"]),
        ("#const theta = 0.4. theta::a.    ", ["Const", "Annotated"]),
        ("#const theta = 0.4. theta::a; 1-theta::f.", ["Const", "Annotated"]),
        ("h :- b1, b2, not bm.    ", ["Plain"]),
        (
            "#python\ndef net(): return ... # Neural network.\n"
            "# (i=1)st or (i=2)nd half of train set as tensor.\n"
            "def mnist_tr(i): return ... \n#end.",
            ["Python"],
        ),
        (
            "#python\narg1 = arg2 = list\n#end.\natom(x) ~ test(@arg1), train(@arg2).",
            ["Python", "Data"],
        ),
        ("0.5?::h1; ?::h2; ?::h3 :- b1, b2, b3, b4.", ["Annotated"]),
        ("[0.2, 0.7]::f.", ["Annotated"]),
        (
            "sum(Z) :- digit(0, X), digit(1, Y), Z=X+Y.\n"
            "both_even :- digit(0, X), digit(1, Y), X\\2=0, Y\\2=0.",
            ["Plain"] * 2,
        ),
        (
            "#query digit(0, 4).          % P(digit(1, 4))\n"
            "#query sum(8)|not both_even. % P(sum(4)|¬both_even)",
            ["Query"] * 2,
        ),
        ("#semantics lstable, maxent. % L-stable; max-entropy.", ["Semantics"]),
        ("#semantics credal, partial. % Credal; partial.", ["Semantics"]),
        ("#semantics stable.          % Stable; credal.", ["Semantics"]),
        ("#semantics maxent.          % Max-entropy, stable.", ["Semantics"]),
        (
            "#python\ndef observed_atoms(): ...\n#end.\n"
            "#learn @observed_atoms, lr = 0.001, niters = 5.",
            ["Python", "Learn"],
        ),
        (MNIST_HEAD, ["Python", "Data", "Data", "Neural", "Plain", "Semantics", "Learn"]),
        (
            ENSEMBLE,
            ["Python", "Data", "Plain", "Plain", "Neural", "Neural"]
            + ["Plain"] * 8
            + ["Semantics"]
            + ["Query"] * 3,
        ),
        (ADDITION, ["Python", "Data", "Data", "Neural", "Plain", "Semantics", "Learn"]),
    ],
)
def test_listing(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected
    check(parse(text))
