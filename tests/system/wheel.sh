#!/usr/bin/env bash
# Builds the wheel, installs it with all it needs into an empty environment, and runs it away from the sources.
set -euo pipefail
python=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH  # nothing but the wheel
"$python" -m build --quiet --wheel --outdir "$work/dist" "$root"
"$python" -m venv "$work/venv"
PIP_CONSTRAINT="$root/constraints.txt" "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$work"/dist/heedful-*.whl
cd "$work"
venv/bin/heedful --version
venv/bin/heedful presets base big
venv/bin/python - <<'PYTHON'
import torch
from heedful import Transformer, label_smoothed_loss
model = Transformer(vocab_size=50, d_model=16, d_ff=32, num_heads=2, encoder_layers=1, decoder_layers=1)
loss, count = label_smoothed_loss(model(torch.tensor([[11, 2]]), torch.tensor([[1, 5]])), torch.tensor([[5, 2]]))
loss.backward()
print("the wheel runs:", (loss / count).item())
PYTHON
venv/bin/heedful models
# Without a network, where the system lets us take it away.
offline=()
if unshare --map-root-user --net true 2>/dev/null; then offline=(unshare --map-root-user --net); fi
for model in $(venv/bin/python -c 'from heedful.runs.folder import bundled_models as b; print(*b())'); do
    echo "$model, the first translation${offline:+, without a network}:"
    time "${offline[@]}" venv/bin/heedful translate --model "$model" "Where is the nearest station?"
done
if venv/bin/python -c 'from heedful.runs.folder import default_model as d; raise SystemExit(not d())'; then
    "${offline[@]}" venv/bin/heedful translate "Where is the nearest station?"
fi
