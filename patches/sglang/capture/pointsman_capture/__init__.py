"""SGLang 0.5.23 plugin: writes the hidden states of prefilled requests to files, one a request.

Active when POINTSMAN_CAPTURE_DIR is set. A request is captured when its sampling parameters carry
`custom_params = {"pointsman": {"id", "file", "mask"}}` and it asks for hidden states; they are not returned over
HTTP then. Nothing of SGLang on disk is changed; see README.md for the hooked functions.
"""

import os


def register():
    if os.environ.get("POINTSMAN_CAPTURE_DIR"):
        from pointsman_capture import hooks

        hooks.install()
