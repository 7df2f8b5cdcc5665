"""dPASP: probabilistic answer set programming, exact inference and learning."""

from dpasp.version import __version__ as __version__
