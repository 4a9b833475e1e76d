"""Marketplace, forms and people brought up together on this machine: the rehearsal, the demo."""
