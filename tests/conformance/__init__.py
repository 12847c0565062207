"""Tools of others, held against agents and recordings of known behaviour."""
