"""What can go wrong, one exception for each status of attune.h. Their text is the library's own: the field or line, the
limit, the nearest legal choice."""
from __future__ import annotations

from typing import NoReturn


class Error(Exception):
    """Any error of Attune. `status` is the number in attune.h."""

    status = 0


class SpecError(Error):
    """The spec text is wrong; the message shows its lines with carets."""

    status = 1


class UnsupportedError(Error):
    """Legal, but this version or chip cannot do it."""

    status = 2


class InvalidArgumentError(Error, ValueError):
    """A tensor, length or option of the call is wrong."""

    status = 3


class NotFoundError(Error):
    """A file, kernel, device or library does not exist, or may not be compiled."""

    status = 4


class FileError(Error):
    """Reading or writing failed."""

    status = 5


class DeviceError(Error):
    """The device refused or failed."""

    status = 6


class SimulatorFault(Error):
    """The simulator stopped a kernel."""

    status = 7


class InternalError(Error):
    """A bug of Attune."""

    status = 8


_BY_STATUS = {kind.status: kind for kind in Error.__subclasses__()}


def raise_for(status: int, text: str) -> NoReturn:
    """Raises the exception of a status."""
    raise _BY_STATUS.get(status, Error)(text)
