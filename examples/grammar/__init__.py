"""A small English–German grammar that writes sentence pairs with their word alignments: the text of `heedful demo`."""
