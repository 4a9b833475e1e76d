"""The parts of Mechanical Turk's protocol: shapes, pages of a list, ids, values, refusals, XML.

The door is each module's functions: none of them needs the database.
"""
