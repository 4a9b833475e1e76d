"""AWS's command line, once for each line of JSON with its words. Answers with its status and what it printed.

It runs in the environment of the command line, and forks a process for each call. Given a command, it runs
that instead, where the command line is not Python's.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile

if not sys.argv[1:]:
    from awscli.clidriver import create_clidriver  # type: ignore[import-not-found]

    driver = create_clidriver()
    driver.session.create_client("mturk")  # loads what every call needs
    gc.freeze()  # or the collector copies all of it in each process

for line in sys.stdin:
    words = json.loads(line)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        if sys.argv[1:]:
            status = subprocess.run([*sys.argv[1:], *words], stdout=out, stderr=err, check=False).returncode
        else:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                status = driver.main(words)
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err):
            file.seek(0)
        print(json.dumps([status, out.read(), err.read()]), flush=True)
