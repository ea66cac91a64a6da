"""Other toolkits, and ours, behind one small interface: each runs in a process and an environment of its own."""
