"""What every interface for programs uses: the memory service and its schemas. Knows no HTTP and no MCP."""
