"""GLADIUS on observations (s, a, s'), whose states need not repeat: classes `sparse` and `mlp`."""
