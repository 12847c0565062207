"""Tables of users and for users: one reader of CSV and of JSON Lines, and one writer of CSV.

Such files come from spreadsheets, scripts and other programs, and are opened in terminals and spreadsheets. So the reader says
in one line what is wrong and where, whatever the file is, and never takes a row for another than its author wrote; the writer
lets no cell move a cursor or run as a formula. It is below every room, because all of them read or write tables.
"""
