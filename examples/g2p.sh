#!/usr/bin/env bash
# Grapheme-to-phoneme conversion on CMUdict, from the dictionary to the error rates, into the folder g2p.
# Arguments go to `heedful train`. HEEDFUL and PYTHON name other programs, as in HEEDFUL="python3 -m heedful".
set -euo pipefail
heedful() { command ${HEEDFUL:-heedful} "$@"; }
python() { command ${PYTHON:-python3} "$@"; }
examples=$(dirname "$0")

test -f g2p/train.letters || python "$examples"/g2p.py split --output g2p
heedful prepare --source g2p/train.letters --target g2p/train.phonemes \
    --valid-source g2p/valid.letters --valid-target g2p/valid.phonemes --exclude g2p/test.letters \
    --keep validation --vocab-size 400 --output g2p/corpus
heedful train g2p/corpus --config "$examples"/g2p.toml --output g2p/run "$@"
heedful translate --model g2p/run --input g2p/test.letters --output g2p/test.out
python "$examples"/g2p.py score --output-file g2p/test.out --references g2p/test.references
