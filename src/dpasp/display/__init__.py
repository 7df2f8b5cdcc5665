"""What a person sees: diagnostics, answers and progress, as text, as JSON or in colour.

Nothing here decides anything; it turns what the library gives back into lines for
a terminal. Colours are plain escape codes, so that an error costs no heavy import;
tables and progress bars use rich, which is imported when one is drawn.
"""
