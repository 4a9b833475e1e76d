"""Checkpoints: weights, vocabulary, where they come from and how they are kept. The door is `folder`."""
