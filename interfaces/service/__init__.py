"""What every door for other programs uses; knows neither HTTP nor MCP."""
