#!/usr/bin/env bash
# A model that comes with heedful, en-de-small or de-en-small, from the corpora to the folder that is shipped.
#
#     examples/small_models.sh DATA en-de|de-en [options of `heedful train`]
#
# DATA holds a folder for each text, with NAME.en.xz and NAME.de.xz: europarl-en-de, news-extra-en-de, spoken-en-de,
# prose-en-de, games-en-de, dictionary-en-de, names-en-de, debian-en-de, msdocs-en-de; tatoeba-en-de/train.tsv.xz
# (English, tab, German); wmt-news with newstestYEAR.en-de.en.gz and .de.gz; multi30k with its val and test files. Of
# wmt-news 2013 and 2014 are never trained on, and of multi30k nothing. Everything is made in the folder en-de or de-en;
# the subwords are learned once, in the folder small. CARD names the model's card. HEEDFUL and PYTHON name other
# programs, as in HEEDFUL="python3 -m heedful".
set -euo pipefail
heedful() { command ${HEEDFUL:-heedful} "$@"; }
python() { command ${PYTHON:-python3} "$@"; }
examples=$(dirname "$0")
data=$1 pair=$2
source=${pair%-*} target=${pair#*-}
shift 2

# What is held out of Tatoeba and what is joined from the rest; sentences and other lines of messages and manuals.
if ! test -f small/rest.tsv; then
    mkdir -p small
    python "$examples"/small_models.py hold-out "$data"/tatoeba-en-de/train.tsv.xz --output small/tatoeba-dev.tsv
    python "$examples"/small_models.py join "$data"/tatoeba-en-de/train.tsv.xz --without small/tatoeba-dev.tsv \
        --output small/joined.tsv
    python "$examples"/small_models.py sentences "$data"/{debian,msdocs}-en-de/*.en.xz \
        --output small/sentences.tsv --rest small/rest.tsv
    cut -f 1 small/tatoeba-dev.tsv > small/tatoeba-dev.en
    cut -f 2 small/tatoeba-dev.tsv > small/tatoeba-dev.de
fi

# All texts with their weights; a pair that stands in several counts for the first of them.
texts=()
add() { # weight names: the two files of each, .xz or .gz
    for name in "${@:2}"; do
        english=$(ls "$data/$name".en.?z)
        german=${english/.en./.de.}
        if test "$source" = en; then both=("$english" "$german"); else both=("$german" "$english"); fi
        texts+=(--source "${both[0]}@$1" --target "${both[1]}@$1")
    done
}
add 4 wmt-news/newstest20{08,09,10,11,12}.en-de news-extra-en-de/{wmt2019-2023,wiki}
add 2 news-extra-en-de/fsfe prose-en-de/literature
add 1.5 news-extra-en-de/debian-news
add 1 europarl-en-de/europarl news-extra-en-de/corona-warn-app spoken-en-de/chat names-en-de/{names,dates}
add 0.7 prose-en-de/suttacentral games-en-de/{wesnoth,others} dictionary-en-de/phrases
add 0.2 dictionary-en-de/things
add 0.15 dictionary-en-de/words
texts+=(--tsv "$data"/tatoeba-en-de/train.tsv.xz@1.5 --tsv small/joined.tsv@0.5)
texts+=(--tsv small/sentences.tsv@0.6 --tsv small/rest.tsv@0.12)
if test "$source" = en; then columns=1,2; else columns=2,1; fi
kept=(--columns $columns --max-length 256 --max-ratio 4 --on-bad-line drop --exclude small/tatoeba-dev.tsv
    --valid-source "$data"/wmt-news/newstest2013.en-de."$source".gz
    --valid-target "$data"/wmt-news/newstest2013.en-de."$target".gz)
for file in "$data"/wmt-news/newstest2014*.en-de.*.gz "$data"/multi30k/{val,test}*.{en,de}.gz; do
    kept+=(--exclude "$file")
done

# Both directions have the same subwords.
test -d small/subwords || heedful prepare "${texts[@]}" "${kept[@]}" --vocab-size 12000 --sample-pairs 1500000 \
    --output small/subwords
heedful prepare "${texts[@]}" "${kept[@]}" --tokenizer small/subwords --output "$pair"/corpus
heedful train "$pair"/corpus --config "$examples"/small_models.toml --output "$pair"/run "$@"
heedful curves "$pair"/run
heedful bundle "$pair"/run --output "$pair/$pair-small" --languages "$pair" ${CARD:+--card "$CARD"}

# The scores are those of what is shipped: int8. newstest2014 is scored by hand, once.
scored() { # name source reference
    heedful evaluate --model "$pair/$pair-small" --source "$2" --reference "$3" --language "$target" \
        --output "$pair/$1.out" --json > "$pair/$1.json"
}
scored newstest2013 "$data"/wmt-news/newstest2013.en-de.{"$source","$target"}.gz
scored tatoeba-dev small/tatoeba-dev.{"$source","$target"}
scored multi30k-val "$data"/multi30k/val.{"$source","$target"}.gz
heedful models "$pair"
