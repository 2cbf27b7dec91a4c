SHELF = None
