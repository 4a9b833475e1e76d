"""The command line. Its door is `main`; each verb has a module, each group of commands a module or a package.

A module is imported when its verb is called, so `main`, `groups` and `run` import nothing heavy.
"""
