"""Whole ways through the product, in the programs that people really use."""
