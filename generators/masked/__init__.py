"""BERT: masks filled one after another. The door is `bert.build`."""
