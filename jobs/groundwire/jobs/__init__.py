"""When, how much, and where it stopped: the line with its state, its caps, its schedule, and the command line."""
