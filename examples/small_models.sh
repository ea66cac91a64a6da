#!/usr/bin/env bash
# The models that come with heedful, en-de-small and de-en-small, from the corpora to the folders that are shipped.
#
#     examples/small_models.sh DATA [options that every stage takes, as --work FOLDER, --miniature, --device cpu]
#
# DATA holds a folder for each text, with NAME.en.xz and NAME.de.xz: europarl-en-de, news-extra-en-de, spoken-en-de,
# prose-en-de, games-en-de, dictionary-en-de, names-en-de, debian-en-de, msdocs-en-de; tatoeba-en-de/train.tsv.xz
# (English, tab, German); wmt-news with newstestYEAR.en-de.en.gz and .de.gz; multi30k with its val and test files. Of
# wmt-news 2013 and 2014 are never trained on, and of multi30k nothing. Everything is made in the folder small (--work).
#
# Each line is a stage that can be given by itself, with other options (small_models.py STAGE --help), and goes on where
# it was stopped. TEACHER, TRANSLATE and STUDENT are minutes. PYTHON names another program.
set -euo pipefail
stage() { command ${PYTHON:-python3} "$(dirname "${BASH_SOURCE[0]}")"/small_models.py "$@"; }
data=$1
shift

# What is held out and joined, sentences and buttons, all text of each language; subwords and a corpus for each direction.
stage text --data "$data" "$@"
stage corpus original --data "$data" "$@"

# A teacher each way, of the paper's base size, and what they make of all text: targets for their own direction's student,
# and sources for the other's.
stage train teacher --corpus original --size base --minutes "${TEACHER:-16}" "$@"
stage score teacher --data "$data" "$@"
stage translate teacher --minutes "${TRANSLATE:-8}" "$@"

# The students learn from what people wrote, from what their teacher said, and from sources that the other teacher wrote.
stage corpus taught --data "$data" --taught 1 --back 0.5 "$@"
stage train student --corpus taught --size small --minutes "${STUDENT:-10}" "$@"

# The scores are those of what is shipped: int8.
stage score student --data "$data" --bundle "$@"
