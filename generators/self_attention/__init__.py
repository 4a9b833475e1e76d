"""SA: self-attention text infilling (Zhu, Hu, Xing 2019), from a description of it; one blank after the
other."""
