"""Contexts and answers from a GGUF file, run by llama.cpp."""
