"""Ji and Shin's duplication- and locality-aware collections under a virtual memory."""
