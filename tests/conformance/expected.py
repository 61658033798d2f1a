"""What fails in the official suite, and why: only what this template does not offer.

One entry is a scenario and one of its checks. An entry that passes, or that the suite does not
know any more, fails the test as an unexpected failure does.
"""

NO_PROMPTS = "there are no prompts"
NO_RESOURCES = "there are no resources"
NO_COMPLETION = "nothing is completed for a client"
TEXT_ONLY = "a tool answers declared fields and text, never images, audio or resources"
JSON_ONLY = "one JSON answer a request: streams, and what only they carry, are switched off"
NO_SAMPLING = "a client's model is never asked for anything"
NO_ROOTS = "a client's files are never asked for"
NO_LOGGING = "logs go to the platform, not to clients"
APPROVAL_ONLY = "the one question ever asked is `approval`, a yes or no under a sealed state"
ENVELOPE = "a forged state is refused in the command's own envelope: forbidden, approval_mismatch"

# What both protocol revisions have.
SHARED = {
    "completion-complete:completion-complete": NO_COMPLETION,
    "prompts-get-embedded-resource:prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-simple:prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args:prompts-get-with-args": NO_PROMPTS,
    "prompts-get-with-image:prompts-get-with-image": NO_PROMPTS,
    "prompts-list:prompts-list": NO_PROMPTS,
    "resources-list:resources-list": NO_RESOURCES,
    "resources-read-binary:resources-read-binary": NO_RESOURCES,
    "resources-read-text:resources-read-text": NO_RESOURCES,
    "resources-templates-read:resources-templates-read": NO_RESOURCES,
    "tools-call-audio:tools-call-audio": TEXT_ONLY,
    "tools-call-embedded-resource:tools-call-embedded-resource": TEXT_ONLY,
    "tools-call-image:tools-call-image": TEXT_ONLY,
    "tools-call-mixed-content:tools-call-mixed-content": TEXT_ONLY,
    "tools-call-with-progress:tools-call-with-progress": JSON_ONLY,
}

MODERN = {
    **SHARED,
    "caching:sep-2549-prompts-list-caching-hints": NO_PROMPTS,
    "caching:sep-2549-resources-list-caching-hints": NO_RESOURCES,
    "caching:sep-2549-resources-templates-list-caching-hints": NO_RESOURCES,
    "input-required-result-basic-elicitation:sep-2322-elicitation-incomplete": APPROVAL_ONLY,
    "input-required-result-basic-list-roots:sep-2322-list-roots-incomplete": NO_ROOTS,
    "input-required-result-basic-sampling:sep-2322-sampling-incomplete": NO_SAMPLING,
    "input-required-result-capability-check:sep-2322-respect-client-capabilities": NO_SAMPLING,
    "input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params": APPROVAL_ONLY,
    "input-required-result-multi-round:sep-2322-multi-round-r1": APPROVAL_ONLY,
    "input-required-result-multiple-input-requests:sep-2322-multiple-inputs-incomplete": (
        APPROVAL_ONLY
    ),
    "input-required-result-non-tool-request:sep-2322-non-tool-incomplete": NO_PROMPTS,
    "input-required-result-tampered-state:sep-2322-reject-tampered-state": ENVELOPE,
    "sep-2164-resource-not-found:sep-2164-data-uri": NO_RESOURCES,
    "sep-2164-resource-not-found:sep-2164-error-code": NO_RESOURCES,
    "server-stateless:sep-2575-missing-capability-http-400": NO_SAMPLING,
    "server-stateless:sep-2575-server-rejects-undeclared-capability": NO_SAMPLING,
}

LEGACY = {
    **SHARED,
    "elicitation-sep1034-defaults:elicitation-sep1034-general": JSON_ONLY,
    "elicitation-sep1330-enums:elicitation-sep1330-general": JSON_ONLY,
    "logging-set-level:logging-set-level": NO_LOGGING,
    "resources-subscribe:resources-subscribe": NO_RESOURCES,
    "resources-unsubscribe:resources-unsubscribe": NO_RESOURCES,
    "server-sse-multiple-streams:server-sse-multiple-streams-session": JSON_ONLY,
    "server-sse-polling:server-sse-polling-session": JSON_ONLY,
    "tools-call-elicitation:tools-call-elicitation": JSON_ONLY,
    "tools-call-sampling:tools-call-sampling": NO_SAMPLING,
    "tools-call-with-logging:tools-call-with-logging": NO_LOGGING,
}
