"""From a ground program to answers: exact, approximate, most probable, and explained."""
