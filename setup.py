"""What a wheel holds: both packages, and `attention_atlas`, the root of a checkout with the server, its settings and the data."""

from setuptools import find_namespace_packages, setup

setup(
    packages=["attention_atlas", *find_namespace_packages(include=["core*", "viz*"])],
    package_dir={"attention_atlas": "."},
)
