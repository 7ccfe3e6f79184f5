"""The workbench: a local server and its pages."""
