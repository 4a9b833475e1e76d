"""Prolific's side of a study, through its REST API. The door is `platform`."""
