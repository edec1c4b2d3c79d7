"""Independent solutions (NumPy, SciPy, fractions) that share no code with the library."""
