"""What was observed, and nothing else: states, actions, next states, and the anchor's reward.

This room imports `gladius.validate` alone, and holds no truth. Start with `record.DataSet`. Data
frames are read and written by `gladius.own_data.frame`, which `frame` asks `gladius` for.
"""
