"""Compiled training: epochs as one program, optimizers, schedules, stopping."""
