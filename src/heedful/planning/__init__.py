"""What a run will take, before it is one: memory, operations, time, and what would stop it."""
