"""Other tools that dPASP works with; each module is imported only when needed."""
