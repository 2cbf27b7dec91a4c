"""Classification of images: the corpora, the task, and the Vision Transformer."""
