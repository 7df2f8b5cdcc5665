"""What is wrong with a text that cannot be read, or doubtful in one that can."""
