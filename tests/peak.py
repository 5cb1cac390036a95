"""The most memory that a process has held, as code for the process itself to run.

Linux tells it of the program that runs (VmHWM); the older ru_maxrss begins with the peak of the process that started
it, which a test runner's own size would be mistaken for.
"""

PEAK = '''
def peak():
    """Return the most bytes that were resident."""
    import resource, sys
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
'''
