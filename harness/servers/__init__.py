"""What model servers say about themselves: metrics pages, samples of them, windows over samples, and the parts of a wait.

Order: `page` reads a page, `adapters` name its series (one file for each server), `scraper` fetches pages during calls into
`samples`, `windows` takes differences, and `split` joins them and a request's own timings to one wait of one turn. All but
the scraper and the file of samples is pure.
"""
