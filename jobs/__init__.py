"""Long work on a session or a memory, in steps that are complete in themselves: compaction, saving, erasing."""
