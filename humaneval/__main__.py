"""`python -m humaneval`: same as the `humaneval` command."""

from humaneval.cli.main import main

if __name__ == "__main__":
    main()
