"""T5 and BART: models that read a text with gaps and write what is missing. The door is `text_to_text`."""
