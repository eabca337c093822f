"""Reports on kept results: what a picture of them shows, and one page for a browser.

:mod:`~flashgc.reports.wording` has the words for columns and values,
:mod:`~flashgc.reports.choice` and :mod:`~flashgc.reports.view` what a picture shows, for
:mod:`flashgc.plot` and for the page. :mod:`~flashgc.reports.columns` says how each column of the
page is called and shown, :mod:`~flashgc.reports.question` what was asked,
:mod:`~flashgc.reports.page` puts the file together: its programs are in ``script``, in the order in
which they are put into it.

A package called ``report`` would stand in the place of :func:`flashgc.report` once it is imported.

The data of the page are the tidy rows as JSON by columns; words that come again and again are
numbers of a list. Its programs are plain JavaScript, and the policy of the page names their digest:
nothing else runs in it, and nothing is fetched. ``view.js`` computes what
:mod:`~flashgc.reports.view` computes, since a reader may choose other axes. The quantiles of its
intervals are Python's, and a test compares all points of both. The programs have no library: the
pictures are 500 lines of SVG, and no small chart library has the rest (zoom by hand, keys, a table
of 10,000 rows in a window). So the page without its data has 80 KB, and needs no licence texts.
"""
