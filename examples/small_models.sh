#!/usr/bin/env bash
# The model en-de-small that comes with heedful, from the corpora to the folder that is shipped, into the folder en-de.
#
#     examples/small_models.sh TATOEBA MSDOCS DEBIAN NEWS CAPTIONS [options of `heedful train`]
#
# TATOEBA is a file, English, tab, German; the others are folders: MSDOCS and DEBIAN with NAME.en.xz and NAME.de.xz, NEWS
# with newstestYEAR.en-de.en.gz and .de.gz, CAPTIONS with Multi30k's val and test files. News and captions are never
# trained on. CARD names the model's card. HEEDFUL and PYTHON name other programs, as in HEEDFUL="python3 -m heedful".
set -euo pipefail
heedful() { command ${HEEDFUL:-heedful} "$@"; }
python() { command ${PYTHON:-python3} "$@"; }
examples=$(dirname "$0")
tatoeba=$1 msdocs=$2 debian=$3 news=$4 captions=$5
shift 5

# The text: what is held out of Tatoeba and what is joined from the rest; then two files of each corpus.
mkdir -p en-de
python "$examples"/small_models.py hold-out "$tatoeba" --output en-de/tatoeba-dev.tsv
python "$examples"/small_models.py join "$tatoeba" --without en-de/tatoeba-dev.tsv --output en-de/joined.tsv
cut -f 1 en-de/tatoeba-dev.tsv > en-de/tatoeba-dev.en
cut -f 2 en-de/tatoeba-dev.tsv > en-de/tatoeba-dev.de
python "$examples"/small_models.py sentences "$debian"/*.en.xz "$msdocs"/*.en.xz \
    --output en-de/sentences.tsv --rest en-de/rest.tsv
corpora=()
add() { # weight files: a pair that stands in several corpora counts for the first of them
    for source in "${@:2}"; do corpora+=(--source "$source@$1" --target "${source%.en.xz}.de.xz@$1"); done
}
shopt -s extglob
add 1 "$debian"/!(debian-mo).en.xz
add 0.5 "$debian"/debian-mo.en.xz # messages of programs: most of the lines, few of them sentences
add 1 "$msdocs"/*.en.xz
kept=(--valid-source "$news"/newstest2013.en-de.en.gz --valid-target "$news"/newstest2013.en-de.de.gz
    --valid-tsv en-de/tatoeba-dev.tsv --max-length 256 --max-ratio 4 --on-bad-line drop)
for file in "$news"/newstest2014*.en-de.*.gz "$captions"/{val,test}*.{en,de}.gz; do
    kept+=(--exclude "$file")
done

# The subwords are learned from the corpora as they are; then each text is cut into them in three ways (BPE-dropout).
heedful prepare "${corpora[@]}" --tsv "$tatoeba"@3 "${kept[@]}" --vocab-size 12000 --output en-de/subwords
heedful prepare --tsv en-de/sentences.tsv --tsv en-de/rest.tsv@0.25 --tsv "$tatoeba"@3 --tsv en-de/joined.tsv "${kept[@]}" \
    --tokenizer en-de/subwords --bpe-dropout 0.1 --copies 3 --output en-de/corpus
heedful train en-de/corpus --config "$examples"/small_models.toml --output en-de/run "$@"
heedful curves en-de/run
heedful bundle en-de/run --output en-de/en-de-small --languages en-de ${CARD:+--card "$CARD"}

# The scores are those of what is shipped: int8.
scored() { # name source reference
    heedful evaluate --model en-de/en-de-small --source "$2" --reference "$3" --language de --output "en-de/$1.out" \
        --json > "en-de/$1.json"
}
scored newstest2013 "$news"/newstest2013.en-de.{en,de}.gz
scored tatoeba-dev en-de/tatoeba-dev.{en,de}
scored newstest2014 "$news"/newstest2014.en-de.{en,de}.gz
scored multi30k-val "$captions"/val.{en,de}.gz
heedful models en-de
