"""The program LibreOffice: where it is, and how it is run on a document of unknown origin.

It has a profile of its own in a private folder, which forbids macros, active content and links to
other documents, and sends requests to a proxy that does not exist. Its home and its folder of
temporary files are that folder, too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

NAMES = ("soffice", "libreoffice")
# The installer of macOS adds nothing to PATH.
_APPLICATION = "/Applications/LibreOffice.app/Contents/MacOS"
_SYSTEM_FOLDERS = ("/usr/bin", "/bin")
_PROFILE, _HOME = "profile", "home"
# The name of its socket has 60 characters, and a path to a socket at most 104.
_LONGEST_SOCKET_FOLDER = 43
_OPTIONS = (
    "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
    "--nofirststartwizard",
)  # fmt: skip
_SECURITY = "org.openoffice.Office.Common/Security/Scripting"
_PROXY = "org.openoffice.Inet/Settings"
_SETTINGS = (
    (_SECURITY, "DisableMacrosExecution", "true"),
    (_SECURITY, "DisableActiveContent", "true"),
    (_SECURITY, "DisablePythonRuntime", "true"),
    (_SECURITY, "DisableOLEAutomation", "true"),
    (_SECURITY, "BlockUntrustedRefererLinks", "true"),
    (_SECURITY, "MacroSecurityLevel", "3"),
    ("org.openoffice.Office.Writer/Content/Update", "Link", "0"),
    ("org.openoffice.Office.Java/VirtualMachine", "Enable", "false"),
    (_PROXY, "ooInetProxyType", "2"),
    *((_PROXY, f"ooInet{kind}ProxyName", "127.0.0.1") for kind in ("HTTP", "HTTPS", "FTP")),
    *((_PROXY, f"ooInet{kind}ProxyPort", "9") for kind in ("HTTP", "HTTPS", "FTP")),
)
_ITEM = (
    '<item oor:path="/{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop>'
    "</item>"
)
_REGISTRY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<oor:items xmlns:oor="http://openoffice.org/2001/registry">{items}</oor:items>\n'
)


def find_program() -> str:
    """Return the path of LibreOffice, "" if it is not installed.

    It is looked for in the absolute folders of PATH alone: the current folder may be one that is
    indexed.
    """
    named = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [*filter(os.path.isabs, named), _APPLICATION]
    found = (shutil.which(name, path=os.pathsep.join(folders)) for name in NAMES)
    return next(filter(None, found), "")


def make_profile(folder: Path) -> None:
    """Write the settings of LibreOffice, and the folders that it uses, into an empty folder."""
    user = folder / _PROFILE / "user"
    user.mkdir(parents=True)
    (folder / _HOME).mkdir()
    items = "".join(
        _ITEM.format(path=path, name=name, value=value) for path, name, value in _SETTINGS
    )
    (user / "registrymodifications.xcu").write_text(_REGISTRY.format(items=items), "utf-8")


def conversion_command(
    program: str, document: Path, *, folder: Path, target: str
) -> tuple[str, ...]:
    """Return the command that converts a document, to a file beside it with the suffix `target`."""
    profile = (folder / _PROFILE).as_uri()
    convert = ("--convert-to", target, "--outdir", str(document.parent))
    return (program, f"-env:UserInstallation={profile}", *_OPTIONS, *convert, str(document))


def environment(program: str, *, folder: Path) -> Mapping[str, str]:
    """Return all environment variables that LibreOffice is given."""
    home = str(folder / _HOME)
    socket = {"OSL_SOCKET_PATH": home} if len(home) <= _LONGEST_SOCKET_FOLDER else {}
    return {
        **socket,
        "PATH": os.pathsep.join((os.path.dirname(program), *_SYSTEM_FOLDERS)),
        "HOME": home,
        "TMPDIR": home,
        "XDG_CACHE_HOME": home,
        "XDG_CONFIG_HOME": home,
        "XDG_RUNTIME_DIR": home,
        "LANG": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
    }
