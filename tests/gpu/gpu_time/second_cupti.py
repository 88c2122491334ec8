"""Without cutap: a second copy of libcupti refuses subscribers after any use of a first one, however that was given up.
cutap cannot do better than CUPTI, so CUTAP_CUPTI must name the copy of such a program.
"""

import os
import re

import tools

MULTIPLE_SUBSCRIBERS = 39
WAYS = ("none", "open", "used", "disabled", "finalized", "finalized_subscribed", "closed")


def main():
    newer = os.environ.get("GPU_TIME_CUPTI_NEWER", "")
    program = os.path.join(tools.WORK, "second_cupti")
    if not newer or not tools.cupti():
        tools.result(None, "second_cupti", "GPU_TIME_CUPTI_NEWER names no libcupti of 13.3 or later, or there is none")
        return
    made = tools.run(["gcc", "-O1", "-o", program, tools.program("second_cupti.c"), "-ldl"])
    if made.code != 0:
        tools.result(False, "second_cupti", made.last_error())
        return
    answers = {}
    for way in WAYS:
        done = tools.run([program, tools.cupti(), newer, way], 20)
        found = re.search(r"of the second (-?\d+)", done.out)
        answers[way] = int(found[1]) if found else done.last_error()
    refused = [way for way in WAYS[2:] if answers[way] == MULTIPLE_SUBSCRIBERS]
    is_known = answers["none"] == answers["open"] == 0 and len(refused) == len(WAYS) - 2
    tools.result(is_known, "second_cupti", ", ".join(f"{way} {answer}" for way, answer in answers.items()))


main()
