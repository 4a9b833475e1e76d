"""What the kinds share when they write: batches and tries, drawing, prompts and replies."""
