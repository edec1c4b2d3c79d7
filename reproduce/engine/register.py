"""The functions that compute cells, by the names under which cells and their keys have them.

A cell is stored under such a name. A function that moves keeps it; another name is another cell.
"""

# name -> module:function, cell -> Result
FUNCTIONS = {
    "fit": "reproduce.fits:compute",
    "author": "reproduce.fits_author:compute",
    "many_inputs": "reproduce.many_inputs:compute",
    "imitation": "reproduce.imitation:compute",
    "expert": "reproduce.demonstrations:measure",
    "bounds": "reproduce.exact:bounds",
    "bounds_with_inputs": "reproduce.exact:with_inputs",
    "frequencies": "reproduce.exact:frequencies",
    "resampled": "reproduce.exact:resampled",
    "truth": "reproduce.exact:truth",
    "errors": "reproduce.traits:errors",
    "free": "reproduce.traits:free",
    "optima": "reproduce.traits:optima",
    "scale": "reproduce.traits:scale",
    "stability_map": "reproduce.gradients:stability_map",
    "stability_steps": "reproduce.gradients:requirements",
    "stability_trace": "reproduce.gradients:trace",
    "balls": "reproduce.landscape:compute",
    "levels": "reproduce.corrected:constants",
    "paths": "reproduce.corrected:paths",
    "coverage": "reproduce.exhibits.coverage:compute",
    "figure_gumbel": "reproduce.exhibits.figure_gumbel:compute",
    "rust": "reproduce.exhibits.rust:compute",
    "rust_raw": "reproduce.exhibits.rust:raw",
}
