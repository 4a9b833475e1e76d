"""From a text to its blanks: documents, words and mask functions. The doors are `documents` (texts), `named`
(a mask function by its name) and `distinct_masks` (masks of a document)."""
