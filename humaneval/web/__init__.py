"""The toolkit's own pages: the annotators' forms."""
