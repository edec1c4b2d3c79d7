"""The functions that compute cells, by the names under which cells and their keys have them.

A cell is stored under such a name. A function that moves keeps it; another name is another cell.
"""

# name -> module:function, cell -> Result
FUNCTIONS = {
    "fit": "reproduce.cells.fits:compute",
    "author": "reproduce.cells.fits_author:compute",
    "public_training": "reproduce.cells.public_trainings:compute",
    "public_baseline": "reproduce.cells.public_baselines:compute",
    "printed_training": "reproduce.cells.printed_trainings:compute",
    "public_fit": "reproduce.cells.public_fits:compute",
    "known_level": "reproduce.cells.public_fits:known_level",
    "public_descent": "reproduce.cells.public_fits:descents",
    "many_inputs": "reproduce.cells.many_inputs:compute",
    "imitation": "reproduce.cells.imitation:compute",
    "gym_training": "reproduce.cells.gym_trainings:compute",
    "expert": "reproduce.cells.demonstrations:measure",
    "bounds": "reproduce.cells.bus_exact:bounds",
    "bounds_with_inputs": "reproduce.cells.bus_exact:with_inputs",
    "frequencies": "reproduce.cells.bus_exact:frequencies",
    "resampled": "reproduce.cells.bus_exact:resampled",
    "truth": "reproduce.cells.bus_exact:truth",
    "public_frequencies": "reproduce.cells.public_data:frequencies",
    "author_oracles": "reproduce.cells.author_oracles:compute",
    "author_resamples": "reproduce.cells.author_oracles:resampled",
    "errors": "reproduce.cells.table_1_cells:errors",
    "free": "reproduce.cells.table_1_cells:free",
    "optima": "reproduce.cells.table_1_cells:optima",
    "scale": "reproduce.cells.table_1_cells:scale",
    "stability_map": "reproduce.cells.step_sizes:stability_map",
    "stability_steps": "reproduce.cells.step_sizes:requirements",
    "stability_trace": "reproduce.cells.step_sizes:trace",
    "balls": "reproduce.cells.loss_bounds:compute",
    "levels": "reproduce.cells.corrected:constants",
    "paths": "reproduce.cells.corrected:paths",
    "coverage": "reproduce.exhibits.coverage:compute",
    "double_sampling": "reproduce.exhibits.double_sampling:compute",
    "figure_gumbel": "reproduce.exhibits.figure_gumbel:compute",
    "rust": "reproduce.exhibits.rust:compute",
    "rust_raw": "reproduce.exhibits.rust:raw",
}
