"""Attribution of an output to heads and words: by ablation, patching and gradients."""
