"""Components of retrieval frameworks that search an index: LangChain, LlamaIndex, Haystack."""
