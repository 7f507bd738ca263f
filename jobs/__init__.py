"""Long work on a session, made of steps that each hold on their own: folding, saving, erasing."""
