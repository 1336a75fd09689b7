"""Rules of the order, one a file: each is a frozen value of its numbers (see `RankingRule`)."""
