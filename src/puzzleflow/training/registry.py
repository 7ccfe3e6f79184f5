"""Trainable networks by name: what ``puzzleflow train NAME`` knows."""

from __future__ import annotations

from puzzleflow.registry import Registry

TRAINABLES = Registry(
    "trainable network",
    "puzzleflow.trainables",
    {
        "edges": "puzzleflow.training.edge_embedding:EdgeTraining",
        "flow": "puzzleflow.training.flow:FlowTraining",
        "relational": "puzzleflow.training.relational:RelationalTraining",
    },
)
