"""`python -m humaneval` as a program of its own that starts at once: it is forked from a process that has
loaded the command line, which takes longer than most commands do.

`program.Program` starts one from a test, `client.py` from a shell, and `server.py` is the process that forks.
"""
