"""One file per method; none imports another."""
