"""Generators: what fills a blank. One module a kind; torch only inside the modules that need it."""
