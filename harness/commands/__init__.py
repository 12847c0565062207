"""The commands, one file each: a command reads its options, calls the library and prints. It computes nothing itself."""
