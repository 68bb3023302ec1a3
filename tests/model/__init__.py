"""Random walks over the queue, next to a small model of it that knows no database."""
