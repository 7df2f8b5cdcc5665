"""Other tools that dPASP works with; each is imported only when it is asked for."""
