"""From raw text to a prepared corpus: the room above `text` and `data`, which do not know of each other."""
