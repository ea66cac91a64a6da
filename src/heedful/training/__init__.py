"""Section 5: how the model is trained."""
