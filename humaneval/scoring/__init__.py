"""From responses to scores: who counts, which pairs differ, the score table. Pure. The doors: `scores`,
`from_counts`."""
