"""One call: its data with their times (`record`), its files on disk (`files`), and its sound for a listener (`playout`)."""
