"""Section 3, the model: each file is a section of the paper, from the leaves to the root.

    scaled_dot_product_attention  3.2.1   Equation 1
    multi_head_attention          3.2.2
    masks                         3.2.3   who may attend to whom; padded and packed batches
    feed_forward                  3.3     Equation 2
    embeddings                    3.4     the one shared matrix; 3.5, positions
    stacks                        3.1     encoder and decoder, residual connections and layer normalisation
    transformer                   Figure 1
    restricted_attention          4       attention to a neighbourhood of r, Table 1's last row
    draft_heads                   7       guesses of the words after the next, for less sequential generation
    attention_kernels                     four ways to compute Equation 1, and which one is chosen
    initialization                        where every parameter begins

A tensor's name may end in its axes: B batch, S source, T target, Q query, M memory (keys), L any length, D d_model,
F d_ff, H heads, K d_k, E d_v, V vocabulary, W beam, N packed tokens.
"""
