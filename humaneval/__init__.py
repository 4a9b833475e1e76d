"""Human evaluation of machine-written sentences: stories in, detection scores out.

    import humaneval as he

    he.score(responses)         scores with intervals and comparisons
    he.plan(systems=4)          power, width and cost of a study
    he.open("humaneval.db")     the studies of a database

`docs/python.md` says more. Nothing is loaded before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from humaneval.errors import HumanEvalError, InputError, SettingsError, StoreError, UsageError
    from humaneval.interface.database import Database, StoredStudy, open
    from humaneval.interface.plans import StudyPlan, plan
    from humaneval.interface.scores import Scores, score

__version__ = "0.1.0"

__all__ = [
    "Database",
    "HumanEvalError",
    "InputError",
    "Scores",
    "SettingsError",
    "StoreError",
    "StoredStudy",
    "StudyPlan",
    "UsageError",
    "__version__",
    "open",
    "plan",
    "score",
]

_HOME = {
    "Database": "interface.database",
    "HumanEvalError": "errors",
    "InputError": "errors",
    "Scores": "interface.scores",
    "SettingsError": "errors",
    "StoreError": "errors",
    "StoredStudy": "interface.database",
    "StudyPlan": "interface.plans",
    "UsageError": "errors",
    "open": "interface.database",
    "plan": "interface.plans",
    "score": "interface.scores",
}
"""The module of each name, which is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
