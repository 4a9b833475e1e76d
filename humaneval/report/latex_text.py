"""Text as LaTeX prints it."""

from __future__ import annotations

import re

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{MINUS SIGN}": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "′": r"$'$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "∞": r"$\infty$",
}


def latex_escaped(text: str) -> str:
    r"""`text` as LaTeX prints it, on one line: every character that means something there is escaped.

    >>> print(latex_escaped("50 % of lm_1 & “ILM”"))
    50 \% of lm\_1 \& ``ILM''
    >>> print(latex_escaped("[MASK]"))
    {}[MASK]
    """
    shown = "".join(LATEX.get(character, character) for character in re.sub(r"[\t\r\n]+", " ", text))
    # After the end of a table's line, such a character would belong to it.
    return "{}" + shown if shown.startswith(("[", "*")) else shown
