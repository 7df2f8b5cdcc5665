"""What a person sees: diagnostics, answers, reasons, progress; as text, pages and pictures.

Nothing is computed here. Results import these modules in the methods that show them (``__str__``,
``_repr_html_``, ``plot``). Terminal colours are plain escape codes, so that an error needs no heavy
import; rich, matplotlib and Graphviz are imported only when something is drawn.
"""
