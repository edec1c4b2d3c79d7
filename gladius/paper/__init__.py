"""The paper's Algorithms 1 and 2 to the letter, where they are stable, and the author's procedure.

This room imports the model, the solvers and what was observed. `author` uses the true
reward, and `stability` the world's. Start with `algorithm`, whose `step` is the box of Algorithm 1.
"""
