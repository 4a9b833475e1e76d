"""What the kinds share when they write. The doors are `filling` (a generator over a model), `decoding`
(drawing tokens), `prompts` and `replies`."""
