"""Words of queries and texts: terms and phrases, for searches and for what is shown of them."""
