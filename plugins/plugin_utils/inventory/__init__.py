"""Reading inventories: variables, the files that set them, and what they hold."""
