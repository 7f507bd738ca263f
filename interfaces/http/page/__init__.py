"""The page to look at: what a browser is given before anybody says who they are. It holds nothing of anybody."""
