"""The plots of the report, one module each; `drawing` is the engine, `files` writes plots as files."""
