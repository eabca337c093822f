"""ZLeanStore's simulator, a naive drive with its rules and flashgc under the same writes."""
