"""Step 3: write the trained weights as GGUF, and check that llama.cpp computes what torch does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import torch
from examples import Example
from network import Network

_KINDS = {
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
}
# Fields that the writer sets itself, and those that are set anew.
_OWN = ("GGUF.", "general.architecture", "general.file_type", "general.name", "general.finetune")


def export(network: Network, *, start: Path, out: Path, kind: str) -> None:
    """Write the weights with the fields of the file that training started from.

    `kind` is "q8_0" or "q4_0"; the embeddings are Q8_0 in both, as in the file that it starts from.
    """
    tensor_kind, file_kind = _KINDS[kind]
    reader = gguf.GGUFReader(start)
    writer = gguf.GGUFWriter(out, "llama")
    for name, field in reader.fields.items():
        if not name.startswith(_OWN):
            value_type, *rest = field.types
            element = rest[-1] if rest else None
            writer.add_key_value(name, field.contents(), value_type, element)
    writer.add_name("crx contextualizer, from SmolLM2-135M-Instruct")
    writer.add_file_type(file_kind)
    for name, weight in network.tensors().items():
        values = weight.detach().numpy()
        stored = gguf.GGMLQuantizationType.Q8_0 if name == "token_embd.weight" else tensor_kind
        if values.ndim == 1:
            stored = gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quants.quantize(values, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def check(path: Path, examples: Sequence[Example], *, threads: int = 2) -> str:
    """Compare the logits of a file's answers in llama.cpp and in torch with the file's weights.

    Returns the share of answer tokens at which both choose the same next token, the mean absolute
    difference of the centred logits, and the loss a token of both.
    """
    network = Network.read(path)
    longest = max(len(each.prompt) + len(each.answer) for each in examples)
    model = llama_cpp.Llama(
        str(path), n_ctx=longest, n_threads=threads, logits_all=True, verbose=False
    )
    same, differences, losses = [], [], []
    for each in examples:
        tokens = [*each.prompt, *each.answer[:-1]]
        begin, rows = len(each.prompt) - 1, np.arange(len(each.answer))
        hidden = network.embed(torch.tensor(tokens))
        hidden = network.run(hidden, range(network.shape.layers))
        ours = network.logits(hidden[begin:]).log_softmax(-1).numpy()
        model.reset()
        model.eval(tokens)
        raw = torch.from_numpy(np.array(model.scores[begin : len(tokens)]))
        theirs = raw.log_softmax(-1).numpy()
        same.append(ours.argmax(1) == theirs.argmax(1))
        differences.append(np.abs(ours - theirs).mean(1))
        losses.append([-ours[rows, each.answer], -theirs[rows, each.answer]])
    model.close()
    torch_loss, llama_loss = np.concatenate(losses, axis=1).mean(1)
    return (
        f"same next token {np.concatenate(same).mean():.1%}, mean difference of log-probabilities"
        f" {np.concatenate(differences).mean():.3f}, loss {torch_loss:.3f} in torch and"
        f" {llama_loss:.3f} in llama.cpp"
    )
