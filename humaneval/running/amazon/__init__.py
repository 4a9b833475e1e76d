"""Programs with Amazon's address in them, run unedited against the marketplace. The door is `program`.

- program: one run of a program, from the certificates to the exit status.
- guard: what keeps a program from going past the proxy.
- environment: the variables that the program gets.
- proxy: Amazon's names for Mechanical Turk lead to the marketplace; its other names lead nowhere.
- certificates: what the proxy shows to programs in Amazon's place.
- names: which names are Amazon's.
- hooks: not imported here. Python and Node load these files into the program.
"""
