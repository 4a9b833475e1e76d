"""Models behind an OpenAI-compatible server, asked over HTTP; no torch. The door is `generator`."""
