"""Every error that a user may see: one clear line, and what to do about it.

HumanEvalError              exit 1
├── UsageError              exit 2: the command or its arguments are invalid
├── DeclinedError           exit 2: a person answered no, and nothing was done
├── SettingsError           exit 2: a setting is missing or wrong
├── InputError              exit 1: a file or a row of it cannot be used; nothing was changed
├── StoreError              exit 1: the database is missing, of another revision, or busy
├── GoneError               exit 1: another program has deleted what it is about
├── DesignError             exit 1: a study cannot be built from the stored data
├── PrerequisiteError       exit 1: a package, program or server is missing
├── BusyError               exit 1: another request is at work
├── PlatformError           exit 1: a platform refused or could not be reached
├── PartialError            exit 3: some of the work is done; running the verb again does the rest
└── NotAsPlannedError       exit 3: the work is done, but HITs are otherwise than planned
"""

from __future__ import annotations


class HumanEvalError(Exception):
    """What went wrong (`message`) and how to fix it (`hint`, may be empty)."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(HumanEvalError):
    """The command or its arguments are invalid."""

    exit_code = 2


class DeclinedError(UsageError):
    """A person answered no to the question whether to continue. The message is a sentence, and no error."""


class SettingsError(HumanEvalError):
    """A setting is missing or wrong; the message names the setting and where its value came from."""

    exit_code = 2


class InputError(HumanEvalError):
    """A file, or a row of it, cannot be used. Nothing was changed."""


class StoreError(HumanEvalError):
    """The database is missing, of another revision, damaged or busy."""


class GoneError(StoreError):
    """Another program has deleted what this is about."""


class DesignError(HumanEvalError):
    """A study cannot be built from the stored stories and infills."""


class PrerequisiteError(HumanEvalError):
    """A package, program or server is missing; the hint says how to get it."""


class BusyError(HumanEvalError):
    """Another request is at work, and there is no room for two."""


class PlatformError(HumanEvalError):
    """A platform refused a call or could not be reached; `code` is the platform's own error code.

    `nothing_done`: it is certain that the call changed nothing there. `never_done`: a look-up there has also
    shown that no earlier attempt did. `retry_after`: how many seconds the platform asks us to wait.
    """

    def __init__(self, message: str, hint: str = "", code: str = "", *, nothing_done: bool = False) -> None:
        super().__init__(message, hint)
        self.code = code
        self.nothing_done = nothing_done
        self.never_done = False
        self.retry_after: float | None = None


class PartialError(HumanEvalError):
    """Some of the work is done and stored; running the verb again does the rest."""

    exit_code = 3


class NotAsPlannedError(PartialError):
    """HITs are otherwise than planned, and nobody has accepted it. `found` is what was done all the same."""

    def __init__(self, message: str, hint: str, found: object) -> None:
        super().__init__(message, hint)
        self.found = found
