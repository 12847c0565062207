"""One file a command: reads options, calls the library, prints. Nothing is computed here."""
