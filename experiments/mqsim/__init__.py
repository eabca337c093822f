"""Runs MQSim and this drive on the same writes."""
