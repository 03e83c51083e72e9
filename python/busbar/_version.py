"""The version of the project, as in CMakeLists.txt; python/make_wheel.py compares them."""
VERSION = "0.1.0"
