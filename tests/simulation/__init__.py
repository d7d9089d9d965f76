"""The whole service in one process, on fakes of everything outside it, all of it by one seed.

    simulate(Options(seed=7, payments=200))          an Outcome; its `violations` are empty, or say what went wrong
    python -m tests.simulation --seed 7 --payments 10000       what `make simulate` runs: prints, and shrinks a failure

People (people.py, strangers.py) act through the public API, schedules and workers run as app.py lists them, blocks come
each minute, and faults happen at every port (chance.py). Time is virtual and skips to what is due next. Whatever anybody
does or whatever fails has a name, such as `order-17.2` or `lost/webhooks/...`, and is drawn from a stream of its own,
so that leaving it out (`Options.without`) changes nothing else: that is how a failure is shrunk to the few names that
matter (shrinking.py).

What must hold is in infra/check/invariants.py, which also checks deployed stages.
"""
