"""Opens pages in the user's browser, where there is a screen."""

from __future__ import annotations

import os
import sys
import webbrowser


def has_screen() -> bool:
    """Whether a browser can be shown. Without a screen, `webbrowser` would take over the terminal."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def open_pages(*urls: str) -> None:
    """Open each of `urls`, if there is a screen."""
    if has_screen():
        for url in urls:
            webbrowser.open(url)
