"""The paper's Algorithms 1 and 2 to the letter, where they are stable, and the author's procedure.

This room imports the model, the solvers and what was observed. Start with `box`, which is Algorithm
1 as it is printed. `algorithm` and `author` run on tables and on observations, by one trainer:
`rows` has the data and the slopes of the losses, `training` the networks and the steps. `author`
uses the true reward, and `stability` the world's.
"""
