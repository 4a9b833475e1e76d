"""A study to read and to publish: page, Markdown, LaTeX, CSV, plots, terminal tables, datasheet, archive.

The doors are `from_study`, which fills a report, and `page`, which renders it.
"""
