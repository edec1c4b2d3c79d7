"""Independent solutions (NumPy, SciPy, mpmath, cvxpy) that share no code with the library."""
