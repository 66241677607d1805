"""Families whose scores have something added for how far a key is away (Shaw et al. 2018, Raffel et al. 2020, He et al. 2021)."""
