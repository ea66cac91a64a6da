"""What a run left behind, for people: lists of runs and pictures of how they went."""
