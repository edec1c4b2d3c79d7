"""The checks, a module for each section of the paper and of its appendix."""
