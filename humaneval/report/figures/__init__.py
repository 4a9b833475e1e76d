"""The plots of the report, one module each. The doors are `drawing`, the engine, and `files`."""
