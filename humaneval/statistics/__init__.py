"""Arrays in, figures out: one method per module, without studies, tables or a database.

The door is each module's functions; `arrays` has the types and the checks that all of them share.
"""
