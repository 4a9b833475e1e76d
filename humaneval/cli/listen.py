"""`listen`: let Prolific tell the form server what happens there."""

from __future__ import annotations

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.crowd.prolific.listen import listen as subscribe
from humaneval.crowd.prolific.platform import Prolific
from humaneval.errors import UsageError

PATH = "/prolific/events"


@click.command()
@click.argument("study")
@click.option(
    "--new-secret",
    is_flag=True,
    help="Make another secret. Other programs of the workspace then need it, too.",
)
@json_option
@with_app
def listen(app: App, study: str, new_secret: bool, as_json: bool) -> None:
    """Let Prolific tell the form server about places of STUDY that are free again.

    A place is free if somebody returned it or ran out of time. Its form can then be given to another person
    at once, and not after the next `collect`. One call is enough for every study of the project's workspace,
    and another changes nothing. Prolific must reach the form server by https.
    """
    platform = app.study_at("prolific", study).platform
    assert isinstance(platform, Prolific)
    target = app.settings.public_url + PATH
    if platform.endpoint.spends_money and not target.startswith("https://"):
        hint = "Set HUMANEVAL_PUBLIC_URL to an https address."
        raise UsageError(f"Prolific sends no events to {target}", hint)
    made = subscribe(app.engine, platform, target, new_secret=new_secret)
    if as_json:
        emit({"subscription": made, "target": target})
    else:
        say(f"Prolific now sends its events to {target}.")
