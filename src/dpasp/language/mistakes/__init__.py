"""What is wrong with a text that cannot be read, and what is doubtful in one that can."""
