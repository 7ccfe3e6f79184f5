"""Trainable networks by name: what ``puzzleflow train NAME`` knows."""

from __future__ import annotations

from puzzleflow.registry import Registry

TRAINABLES = Registry(
    "trainable network",
    "puzzleflow.trainables",
    {
        "deepzzle": "puzzleflow.training.rivals:DeepzzleTraining",
        "diffassemble": "puzzleflow.training.rivals:DiffAssembleTraining",
        "diffassemble+": "puzzleflow.training.rivals:DiffAssemblePlusTraining",
        "edges": "puzzleflow.training.edge_embedding:EdgeTraining",
        "fcvit": "puzzleflow.training.rivals:FcvitTraining",
        "fcvit+": "puzzleflow.training.rivals:FcvitPlusTraining",
        "flow": "puzzleflow.training.flow:FlowTraining",
        "flow-seams": "puzzleflow.training.flow:SeamFlowTraining",
        "jigsawgan": "puzzleflow.training.rivals:JigsawGanTraining",
        "jigsawgan+": "puzzleflow.training.rivals:JigsawGanPlusTraining",
        "jpdvt": "puzzleflow.training.rivals:JpdvtTraining",
        "jpdvt+": "puzzleflow.training.rivals:JpdvtPlusTraining",
        "pdn-ga": "puzzleflow.training.rivals:PdnGaTraining",
        "puzlm": "puzzleflow.training.rivals:PuzlmTraining",
        "puzlm+": "puzzleflow.training.rivals:PuzlmPlusTraining",
        "relational": "puzzleflow.training.relational:RelationalTraining",
        "second-look": "puzzleflow.training.second_look:SecondLookTraining",
        "sd2rl": "puzzleflow.training.rivals:Sd2rlTraining",
    },
)
