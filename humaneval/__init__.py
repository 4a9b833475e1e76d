"""Human evaluation of machine-written sentences: stories in, detection scores out."""

__version__ = "0.1.0"
