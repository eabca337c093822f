"""Reports on stored results: the contents of pictures, and a page for a browser.

:mod:`~flashgc.reports.wording` has the words for columns and values. :mod:`~flashgc.reports.choice`
and :mod:`~flashgc.reports.view` decide what a picture shows, for :mod:`flashgc.plot` and for the
page. :mod:`~flashgc.reports.columns` has the title and form of each column of the page, and
:mod:`~flashgc.reports.question` the summary at its head. :mod:`~flashgc.reports.page` puts the file
together from the programs in ``script``.

The package is not called ``report``, because its import would then replace the function
:func:`flashgc.report`.

The data of the page are the tidy rows as JSON, by column; repeated words are replaced by indices
into a list. The page's programs are plain JavaScript. Its security policy has their digests, so
that no other code runs and nothing is fetched. ``view.js`` computes the same as
:mod:`~flashgc.reports.view`, because a reader may choose other axes. It uses the quantiles of
intervals from Python, and a test compares all points of both. The programs use no library: the
pictures are 500 lines of SVG, and no small chart library has the rest (zoom, keyboard control, a
scrolling table of 10,000 rows). So the page without its data has 80 KB, and needs no licence texts.
"""
