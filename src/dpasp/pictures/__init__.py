"""Pictures: a few shapes, graphs of nodes and edges, and files to look at.

A picture is a :class:`~dpasp.pictures.scene.Scene`, a list of boxes, strokes and texts; it is
written as SVG without any other package, and by matplotlib as PNG or PDF. Graphs get their
places from Graphviz, which comes with pygraphviz. Nothing here knows what is drawn.
"""
