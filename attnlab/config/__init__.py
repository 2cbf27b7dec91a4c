"""What a run is: its sections, their rules, and how Hydra's words become them."""
