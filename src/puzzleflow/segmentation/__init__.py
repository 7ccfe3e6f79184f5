"""One photograph of many fragments on a plain ground → cut-out fragments."""

from puzzleflow.segmentation.background import Ground
from puzzleflow.segmentation.edits import delete, merge, paint, split
from puzzleflow.segmentation.find import segment
from puzzleflow.segmentation.foreground import draw_preview
from puzzleflow.segmentation.fragments import Fragment, Segmentation

__all__ = [
    "Fragment",
    "Ground",
    "Segmentation",
    "delete",
    "draw_preview",
    "merge",
    "paint",
    "segment",
    "split",
]
