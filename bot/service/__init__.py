"""The application: takes events in, asks hosts, steps runs, carries effects out."""
