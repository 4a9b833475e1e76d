"""The parts of Mechanical Turk's protocol: shapes, pages of a list, ids, values, refusals, XML."""
