"""Kept results as one page for a browser: :func:`flashgc.report` makes it.

A package called ``report``, as the command is, would stand in the place of that function once it is
imported.

:mod:`~flashgc.pages.columns` says how each column is called and shown, :mod:`~flashgc.pages.asked`
what was asked, :mod:`~flashgc.pages.page` puts the file together. The programs of the page are in
``script``, in the order in which they are put into it.
"""
