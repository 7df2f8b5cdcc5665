"""What a person sees: diagnostics, answers, reasons, progress; as text, pages and pictures.

Nothing here decides anything. Results import what shows them in the methods that show them
(``__str__``, ``_repr_html_``, ``plot``). Colours on a terminal are plain escape codes, so that an
error costs no heavy import; rich, matplotlib and Graphviz are imported when something is drawn.
"""
