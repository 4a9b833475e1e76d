"""The annotators' pages on our own server: forms of HITs and forms by link. The door is `app`."""
