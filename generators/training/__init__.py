"""Training and perplexity. The doors are the verbs, `train` and `perplexity`, and the runs: `causal_run`,
`sa_run` and `bert_run`. No other room imports this one."""
