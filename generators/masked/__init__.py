"""BERT: a masked language model fills masks one after another. The door is `bert`."""
