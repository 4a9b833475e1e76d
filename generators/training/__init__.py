"""Training: corpus, batches, loop, and the verb `train`."""
