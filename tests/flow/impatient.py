"""`groundwire` as a process whose leases and claims lapse within two seconds, so that no test waits for them."""

from datetime import timedelta

from groundwire.jobs import flow, schedule
from groundwire.jobs.cli import main

if __name__ == "__main__":
    schedule.LEASE = timedelta(seconds=2)
    flow.CLAIM_FOR = timedelta(seconds=2)
    flow.HEARTBEAT = 0.5
    main()
