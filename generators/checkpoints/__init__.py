"""Checkpoints: weights and tokenizers, how they are saved and checked, and pre-trained models. The doors are
`loading` (open a checkpoint), `checkpoint` (save one), `base` (a model to train further) and `pretrained`
(models of others)."""
