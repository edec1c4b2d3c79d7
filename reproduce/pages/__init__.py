"""The README's sections, the pages beside the results, and the report, made of templates.

This room imports all rooms of the package: it reads results and manifests. What a page says of
them is computed in `facts` alone, and the templates print it. Start with `facts`.
"""
