"""Section 6.1: how a translation is found.

Search works on ids and knows nothing of text or of what computes the scores. A *slot* holds one sentence and W *beams*,
its hypotheses; B slots are decoded together, and a slot whose sentence is finished takes the next one. All state lies
in tensors whose shapes never change, and nothing is copied when hypotheses change places: `rows` says, for each beam
and each position, in which row of the slot that position of the hypothesis was computed.

Axes: B slots, W beams, T positions of the output (the start symbol is position 0), S positions of the source, V words.
"""
