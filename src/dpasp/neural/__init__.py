"""Where torch starts: a program's Python, its data, its networks, and the program as a module.

Nothing here works without torch.
"""
