"""What a run leaves on disk: its folder, its checkpoints, their average. No pickle: reading a file cannot run code."""
