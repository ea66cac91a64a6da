"""The sections of a run's page: each a function from what is known to a title and a fragment of HTML."""
