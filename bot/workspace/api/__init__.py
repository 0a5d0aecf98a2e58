"""The Web API: one function a method, found by its Slack name."""
