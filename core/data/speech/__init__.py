"""Spoken words: clips of a speech synthesiser, the sounds that are joined from them, and the frames that a network reads of a sound."""
