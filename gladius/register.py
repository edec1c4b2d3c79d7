"""The register of methods: a further one is a file and a line here.

This file decides which module a name stands for, and nothing else; so it is no part of what a
stored number rests on. That module is.
"""

# name -> module whose `fit(data, anchor, discount, **options)` returns one Estimate per data set or
# raises InputError for options that do not fit together or the data. `anchor` is the action whose
# reward is given; `rng` is a seed, or one generator for each data set. TITLE is the method's name
# in the paper's Table 1, and NEEDS (words of methods.KNOWLEDGE) is what it uses besides states,
# actions and the discount factor.
METHODS = {
    "gladius": "gladius.erm.estimator",
    "nfxp": "gladius.baselines.nfxp",
    "ccp": "gladius.baselines.ccp",
    "mpec": "gladius.baselines.mpec",
    "avi": "gladius.baselines.avi",
    "semi_gradient": "gladius.baselines.semi_gradient",
    "rp": "gladius.baselines.rp",
    "pqr": "gladius.baselines.pqr",
    "samq": "gladius.baselines.samq",
    "plug_in": "gladius.model.inversion",
    "bc": "gladius.baselines.bc",
    "iq_learn": "gladius.baselines.iq_learn",
    "clare": "gladius.baselines.clare",
    "ml_irl": "gladius.baselines.ml_irl",
    "airl": "gladius.baselines.airl",
}

# protocols of "gladius" other than its own -> module with a `fit` of the same form
PROTOCOLS = {"printed": "gladius.paper.algorithm", "author": "gladius.paper.author"}

# function classes of "gladius" that work on rows -> module with `Options`, and
# `fit_rows(transitions, anchor, discount, options)` of one data set
ROW_CLASSES = {
    "sparse": "gladius.erm.observations.sparse",
    "mlp": "gladius.erm.observations.network",
}
