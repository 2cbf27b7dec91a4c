"""What a page about runs says. `views` draws it."""
