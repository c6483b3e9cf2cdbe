"""What each platform and standard writes of one step, turned into canonical spans and traces."""
