"""Language models that write from left to right: ILM, LM and its relatives, fill-in-the-middle and instruct
models. The doors are the `build` functions of `ilm`, `lm`, `fim` and `instruct`."""
