"""The README's sections, the pages beside the results, and the report, made of templates.

This room imports all rooms but `cells`: it reads results and manifests, and computes nothing. Start
with `findings`.
"""
