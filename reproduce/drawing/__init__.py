"""Tables in LaTeX and HTML, figures, captions and notes, for all exhibits.

This room imports the rooms below it and knows no single exhibit. Start with `layout`.
"""
