"""llama.cpp: contexts and answers from a GGUF file."""
