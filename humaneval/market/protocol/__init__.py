"""What Mechanical Turk's protocol is made of: shapes, pages of a list, tokens, ids, refusals, XML."""
