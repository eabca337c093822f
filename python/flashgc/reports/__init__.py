"""Reports on kept results: what a picture of them shows, and one page for a browser.

:mod:`~flashgc.reports.wording` has the words for columns and values,
:mod:`~flashgc.reports.choice` and :mod:`~flashgc.reports.view` what a picture shows, for
:mod:`flashgc.plot` and for the page. :mod:`~flashgc.reports.columns` says how each column of the
page is called and shown, :mod:`~flashgc.reports.asked` what was asked, :mod:`~flashgc.reports.page`
puts the file together: its programs are in ``script``, in the order in which they are put into it.

A package called ``report`` would stand in the place of :func:`flashgc.report` once it is imported.
"""
