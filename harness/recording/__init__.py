"""What one call was: who sent what and when (`record`), on disk (`files`), and as a listener heard it (`playout`)."""
