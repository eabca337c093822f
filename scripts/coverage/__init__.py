"""Campaigns that count how often intervals hold the truth and sentences are true."""
