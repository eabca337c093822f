"""Kept results as one page for a browser: :func:`flashgc.report` makes it.

:mod:`~flashgc.pages.columns` says how each column is called and shown, :mod:`~flashgc.pages.asked`
what was asked, :mod:`~flashgc.pages.page` puts the file together. The programs of the page are in
``script``, in the order in which they are put into it.
"""
