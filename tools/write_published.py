#!/usr/bin/env python3
"""Writes catalog/accuracy/published.yaml: the rates of published training runs, to hold a predicted step against.

    tools/write_published.py [--check]

From data/measured/training.csv it takes dense models with a known rate, in the precisions below, and of each series,
model, number of GPUs and precision the fastest run. Rates are model FLOPs with causal attention, as `train` counts
them. --check writes nothing and exits 1 if the file is not what it would write.
"""
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "catalog/accuracy/published.yaml"
GPUS = {"H100-SXM-80GB": "h100-sxm", "H100": "h100-sxm", "H100-SXM-80GB (700W)": "h100-sxm",
        "A100-SXM-80GB": "a100-sxm-80", "A100-SXM4-80GB": "a100-sxm-80", "A100-SXM-40GB": "a100-sxm-40",
        "GB200": "gb200", "GB300": "gb300", "B200": "b200-sxm", "B200-SXM-180GB": "b200-sxm",
        "H200-SXM-141GB": "h200-sxm", "H100-SXM-96GB-HBM2e (500W)": "h100-sxm-96"}
PRECISIONS = {"bf16": "bf16", "amp_bf16": "bf16", "bf16 (fp32 grad accumulation)": "bf16", "fp16": "fp16",
              "fp8": "fp8", "FP8": "fp8", "fp8 (per-tensor)": "fp8", "amp_fp8": "fp8", "FP8-CS": "fp8"}
HEAD = """# Published training runs of dense models: what a predicted step is held against. Written by tools/write_published.py.
# rate: model FLOPs with causal attention, 1e12 a second and GPU, of the fastest run of its series.
name: published
source: data/measured/training.csv, which names the source of every row
confidence: medium
runs:
"""


def runs():
    best = {}
    for row in csv.DictReader(open(ROOT / "data/measured/training.csv", newline="")):
        gpu, precision = GPUS.get(row["gpu"]), PRECISIONS.get(row["precision"])
        wanted = row["moe"] == "no" and row["confidence"] in "AB" and row["check"] == "ok" and gpu and precision
        if not wanted or not (row["calc_model_tflops_causal"] and row["gpus_total"] and row["params_B"]):
            continue
        key = (gpu, precision, float(row["params_B"]), int(row["gpus_total"]), row["model"], row["source_id"])
        best[key] = max(best.get(key, 0), float(row["calc_model_tflops_causal"]))
    return sorted(best.items())


def text():
    lines = [f'  - {{gpu: {gpu}, precision: {precision}, model: "{model}", billions: {billions:g}, gpus: {gpus}, '
             f'rate: {rate:.0f}, of: {of}}}\n' for (gpu, precision, billions, gpus, model, of), rate in runs()]
    return HEAD + "".join(lines)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if OUT.read_text() == text() else f"{OUT}: run tools/write_published.py")
    OUT.write_text(text())
