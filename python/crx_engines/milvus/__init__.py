"""The engine on Milvus: a server, or Milvus Lite in a folder on this machine."""
