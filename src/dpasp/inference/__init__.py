"""From a ground program to answers: exact, by enumeration, and the most probable explanation."""
