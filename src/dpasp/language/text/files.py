"""Program files: reading them, and finding those that others include.

>>> Reach(Path("/data")).path("digits.csv", by="<program>")
PosixPath('/data/digits.csv')
"""

from __future__ import annotations

from os.path import expanduser
from pathlib import Path

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, closest


@dataclass(frozen=True, slots=True)
class Reach:
    """Which files a text may name: any, those inside a folder, or none.

    A file that someone has named may name any other, as in clingo. A text that may come
    from anywhere may name none, or those inside the folder that is given for it.
    """

    folder: Path | None = None
    anywhere: bool = False

    def path(self, name: str, by: str) -> Path:
        """The file that the text ``by`` names, relative to where that is.

        It raises a :class:`ProgramError` for one out of reach, whether it is there or not.
        """
        path = Path(expanduser(name))  # '~' of a user that there is not is a name as any other
        if self.anywhere:
            return path if path.is_absolute() else Path(by).parent / path
        if self.folder is None:
            raise ProgramError(_out_of_reach(name))
        try:
            folder = self.folder.resolve()
            inside = Path(by).resolve().is_relative_to(folder)
            whole = ((Path(by).parent if inside else folder) / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # too long, or a loop of links
            raise ProgramError(_out_of_reach(name)) from error
        if not whole.is_relative_to(folder):
            raise ProgramError(_out_of_reach(name, folder))
        return whole


ANYWHERE = Reach(anywhere=True)


def _out_of_reach(name: str, folder: Path | None = None) -> Diagnostic:
    if folder is not None:
        message = f"{name} is not inside the folder that this text may read"
        return Diagnostic("file-not-allowed", message, help="name a file inside it")
    return Diagnostic(
        "file-not-allowed",
        f"this text may read no file, and names {name}",
        help="a program in a file may: dpasp.load(path), or `dpasp run FILE`; for a text say "
        "where its files are, loads(text, folder=…), or that it is trusted: python=True, --python",
    )


def load_text(path: str | Path) -> str:
    """The text of a file, or a :class:`ProgramError` that says why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{path} is not text in UTF-8 (byte {error.start})"
        raise ProgramError(Diagnostic("encoding", message, help="save it as UTF-8")) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        help = _similar(Path(path)) or "check the name and the folder"
        problem = Diagnostic("file", f"cannot read {path}: {reason}", help=help)
        raise ProgramError(problem) from error


def find_included(name: str, by: str, reach: Reach = ANYWHERE) -> Path:
    """The file that an ``#include`` in the file ``by`` means.

    It is looked for beside that file, then where we are. Only plain files are read:
    a pipe or a device might never end.
    """
    beside = reach.path(name, by)
    for path in (beside, Path(name)) if reach.anywhere else (beside,):
        try:
            if path.is_file():
                path.resolve()
                return path
        except (OSError, RuntimeError, ValueError):  # the name is too long, or a loop of links
            break
    what = "is not a plain file" if _exists(beside) else "does not exist"
    help = _similar(beside) or "check the name; it is relative to the including file"
    problem = Diagnostic("file", f"the file {name} {what}", help=help)
    raise ProgramError(problem)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _similar(path: Path) -> str:
    """A file with a similar name, in words; nothing if there is none."""
    try:
        files = [entry for entry in path.parent.iterdir() if entry.is_file()] if path.stem else []
    except (OSError, ValueError):
        return ""
    # Names are compared without their endings, which all programs share.
    names = {entry.stem: entry.name for entry in files}
    near = names.get(closest(path.stem, sorted(names)), path.name)
    return f"did you mean '{near}'?" if near != path.name else ""
