"""Spoken words: clips of a speech synthesiser, the sounds that are joined of them, and what a network hears of a sound."""
