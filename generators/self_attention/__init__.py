"""SA: self-attention text infilling (Zhu, Hu, Xing 2019), written from the paper. Inference only; its
training is in `generators.training`. The door is `generator`."""
