"""The two wires, HTTP and websocket: they translate and never decide."""
