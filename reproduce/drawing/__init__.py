"""Tables in LaTeX and HTML, figures, captions and notes, for all exhibits.

This room imports `engine`, `cells` and `paper`. Start with `layout`, which knows no exhibit;
`tick_reasons` has the words of Table 1.
"""
