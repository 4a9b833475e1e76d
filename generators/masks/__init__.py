"""From a text to its blanks: documents, words, the mask function and others."""
