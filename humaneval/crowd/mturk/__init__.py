"""Mechanical Turk, and any service that speaks its protocol: `platform.MTurk` is the door."""
