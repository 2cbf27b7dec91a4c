"""`attnlab explore`: trained models in the browser."""
