"""The state of the Responses API: stored responses, conversations, answers in the background, compactions, WebSockets."""
