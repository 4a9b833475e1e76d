"""Completion codes: whether those of a study are in order, and which of them a code is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from humaneval.market.prolific_standin.refusals import Refusal

FIELD = "completion_codes"
PLAIN_ACTIONS = ("AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW", "DYNAMIC_PAYMENT")
GROUP_ACTIONS = ("ADD_TO_PARTICIPANT_GROUP", "REMOVE_FROM_PARTICIPANT_GROUP")
ACTIONS = (*PLAIN_ACTIONS, *GROUP_ACTIONS, "REQUEST_RETURN", "FIXED_SCREEN_OUT_PAYMENT")


def check_codes(body: Mapping[str, Any]) -> None:
    """Raises Refusal if the codes of a study contradict each other or themselves."""
    codes = body.get(FIELD)
    if not isinstance(codes, list) or not codes:
        raise _wrong("This field is required.")
    for code in codes:
        _check_one(code, body)
    texts = [code["code"] for code in codes]
    if len(set(texts)) < len(texts):
        raise _wrong("Completion codes must be unique.")
    ours = [code for code in codes if actor_of(code) == "participant"]
    if not ours:
        raise _wrong("At least one completion code must be for the participant.")
    for code in ours:
        if code["code"] is None and (len(ours) > 1 or code.get("actions")):
            raise _wrong("A code can be null only if it is the only one and has no actions.")
    if sum(fixed_screen_out(code) is not None for code in codes) > 1:
        raise _wrong("Only one completion code can have FIXED_SCREEN_OUT_PAYMENT.")


def actor_of(code: Mapping[str, Any]) -> str:
    """Whose code it is: the participant's, unless it says that it is the researcher's."""
    return str(code.get("actor") or "participant")


def find_code(body: Mapping[str, Any], text: str | None, actor: str) -> dict[str, Any] | None:
    """The code of a study with this text, for this actor; None if there is none."""
    for code in body.get(FIELD, ()):
        if code["code"] == text and actor_of(code) == actor:
            found: dict[str, Any] = code
            return found
    return None


def actions_of(code: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What happens when the code is used."""
    return code.get("actions") or ()


def fixed_screen_out(code: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The action that pays who is screened out, if the code has it."""
    return next((each for each in actions_of(code) if each["action"] == "FIXED_SCREEN_OUT_PAYMENT"), None)


def screen_out_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The study's one action that pays who is screened out."""
    found = (fixed_screen_out(code) for code in body.get(FIELD, ()))
    return next((each for each in found if each is not None), None)


def _check_one(code: Any, body: Mapping[str, Any]) -> None:
    if not isinstance(code, dict) or "code" not in code:
        raise _wrong("Each completion code needs a code.")
    text = code["code"]
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise _wrong("A code is a text.")
    if not isinstance(code.get("code_type"), str) or not code["code_type"]:
        raise _wrong(f"{text}: code_type is required.")
    if actor_of(code) not in ("participant", "researcher"):
        raise _wrong(f"{text}: actor is participant or researcher.")
    actions = code.get("actions") or []
    if not isinstance(actions, list) or not all(isinstance(each, dict) for each in actions):
        raise _wrong(f"{text}: actions is a list of objects.")
    names = [each.get("action") for each in actions]
    for name in names:
        if name not in ACTIONS:
            raise _wrong(f'{text}: "{name}" is not a valid action.')
    if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(names):
        raise _wrong(f"{text}: a code cannot both approve and be reviewed.")
    if "DYNAMIC_PAYMENT" in names and actor_of(code) != "researcher":
        raise _wrong(f"{text}: DYNAMIC_PAYMENT is for the researcher's codes.")
    for action in actions:
        _check_action(text, action, body)


def _check_action(text: str | None, action: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    name = action["action"]
    if name in GROUP_ACTIONS and not isinstance(action.get("participant_group"), str):
        raise _wrong(f"{text}: {name} needs participant_group.")
    if name == "REQUEST_RETURN" and not action.get("return_reason"):
        raise _wrong(f"{text}: REQUEST_RETURN needs return_reason.")
    if name == "FIXED_SCREEN_OUT_PAYMENT":
        reward, slots = action.get("fixed_screen_out_reward"), action.get("slots")
        if type(reward) is not int or not 0 < reward < body["reward"]:
            raise _wrong(f"{text}: fixed_screen_out_reward must be less than the reward.")
        if type(slots) is not int or slots < 1:
            raise _wrong(f"{text}: slots must be a whole number above 0.")


def _wrong(why: str) -> Refusal:
    return Refusal({FIELD: [why]})
