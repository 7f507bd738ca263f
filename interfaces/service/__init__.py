"""What every door for programs uses: the verbs of the memory service and their bodies. Knows no HTTP and no MCP."""
