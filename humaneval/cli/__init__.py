"""The command line: one verb a stage, one file a verb or group; nothing heavy is imported before it is
needed."""
