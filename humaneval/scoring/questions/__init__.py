"""What annotators can be asked: a module for each question. The door is `question`: what a question must say,
and `load_question`, which finds one by its name.
"""
