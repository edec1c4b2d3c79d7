"""One command regenerates every table and figure, and says where each printed number comes from.

Rooms, from the ground up; each imports only those above it in this list:

- `engine`: cells, keys, seeds, the store, workers, manifests;
- `cells`: what is computed, a function for each kind of cell;
- `paper`: the paper's numbers, where they come from, and the rule of a verdict;
- `drawing`: tables, figures and notes;
- `exhibits`: **what is shown, an exhibit a module; start reading here**;
- `run`: computes what is missing, and draws;
- `pages`: the README's sections and the pages beside the results.
"""
