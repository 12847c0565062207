"""What can be run again, alone, on a finished run: measure, transcribe, judge, label, take in votes, rank, summarise."""
