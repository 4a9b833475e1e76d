"""The toolkit from Python: what `import humaneval as he` offers, small and stable.

The doors are the names in `humaneval`. The command line uses the same functions.
"""
