"""Stories of people, operators, services and faults, in which every action follows every other."""
