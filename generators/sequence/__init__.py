"""Encoder-decoder models that read a text with gaps and write what is missing. The doors are `t5` and
`bart`."""
