"""What several tests share: servers, houses, programs, conversations and faults."""
