"""The formats of other people's response files, one a module: NAME, `recognise` (why a file is not of it) and
`read`. The door is `humaneval.foreign.recognise`."""
