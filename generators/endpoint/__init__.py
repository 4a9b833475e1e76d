"""Models behind an OpenAI-compatible server, asked over HTTP."""
