"""A study as something to read: page, Markdown, LaTeX, terminal, datasheet, archive. The doors: `from_study`,
`page`."""
